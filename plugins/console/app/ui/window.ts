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
const spare = 12

export function rowWindow(count: number, rowHeight: number, scrollTop: number, viewHeight: number): RowWindow {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight) - spare))
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + spare)
  return { first, end, before: first * rowHeight, after: Math.max(0, count - end) * rowHeight }
}
