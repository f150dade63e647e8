// Drawing in the page's frames.

/** Calls once before the next frame, with its time, however often that is asked for.
 * @type {(call: (time: number) => void) => { soon(): void; stop(): void }} */
export function frames(call) {
  let frame = 0;
  const soon = () => {
    frame ||= requestAnimationFrame((time) => {
      frame = 0;
      call(time);
    });
  };
  return { soon, stop: () => cancelAnimationFrame(frame) };
}
