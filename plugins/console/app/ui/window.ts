// Computes which rows of a long list are rendered. Pure.

export interface RowWindow {
  readonly first: number
  /** Exclusive. */
  readonly end: number
  /** Heights of the spacers for the rows before and after, in px. */
  readonly before: number
  readonly after: number
}

/** Extra rows around the visible ones, so that fast scrolling shows no gap. */
const spare = 8
/** Rows by which a window moves at a time, so that slow scrolling rarely re-renders. */
const step = 4

/** Rounds a scroll position down to a multiple of the window step. */
export function windowTop(scrollTop: number, rowHeight: number): number {
  const height = step * rowHeight
  return Math.max(0, Math.floor(scrollTop / height) * height)
}

/** Returns the rows to render. @param top the result of `windowTop`. */
export function rowWindow(count: number, rowHeight: number, top: number, viewHeight: number): RowWindow {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - spare))
  const end = Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + step + spare)
  return { first, end, before: first * rowHeight, after: Math.max(0, count - end) * rowHeight }
}
