// Which rows of a long list are in the document. Pure.

export interface RowWindow {
  readonly first: number
  /** After the last one. */
  readonly end: number
  /** Heights of what stands for the rows before and after, px. */
  readonly before: number
  readonly after: number
}

/** Rows beyond the visible ones, so that fast scrolling shows no gap. */
const spare = 8
/** Rows by which a window moves at once: slow scrolling draws nothing most of the time. */
const step = 4

/** The place of scrolling that a window is made for. */
export function windowTop(scrollTop: number, rowHeight: number): number {
  const height = step * rowHeight
  return Math.max(0, Math.floor(scrollTop / height) * height)
}

/** @param top of `windowTop`. */
export function rowWindow(count: number, rowHeight: number, top: number, viewHeight: number): RowWindow {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - spare))
  const end = Math.min(count, Math.ceil((top + viewHeight) / rowHeight) + step + spare)
  return { first, end, before: first * rowHeight, after: Math.max(0, count - end) * rowHeight }
}
