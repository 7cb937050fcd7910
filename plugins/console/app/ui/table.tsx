import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ConsoleColumn } from '../../contract.js'
import { router } from '../router.js'
import { classOf, type RowActs, TableRow } from './table-row.js'
import { rowWindow, windowTop } from './window.js'

const rowHeight = 32
/** Lists up to this length are rendered completely. */
const shortList = 60

export interface Column<Row> extends ConsoleColumn<Row> {
  readonly cell: (row: Row) => ComponentChildren
}

export interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rowKey: (row: Row) => string
  /** Link target of a row; its first cell is the link. */
  readonly href?: ((row: Row) => string | undefined) | undefined
  readonly empty?: ComponentChildren
}

/** The selected rows, and callbacks that select rows. */
export interface Selection<Row> {
  readonly has: (row: Row) => boolean
  readonly toggle: (index: number) => void
  /** Selects the rows from the last selected one, or `from` if there is none, up to `to`. */
  readonly extend: (from: number, to: number) => void
}

export interface Sorting {
  readonly key: string
  readonly down: boolean
}

/** A table whose rows are all loaded. A click on a heading sorts it. */
export function Table<Row>(props: TableProps<Row> & { readonly rows: readonly Row[]; readonly sort?: Sorting }) {
  const { columns, rows, ...rest } = props
  const [sorting, setSorting] = useState<Sorting | undefined>(props.sort)
  const [held, hold] = useState<readonly string[] | undefined>(undefined)
  const sorted = useMemo(() => inOrder(rows, columns, sorting), [rows, columns, sorting])
  // Rows keep their order while the pointer is over the table.
  const shown = held === undefined ? sorted : keepOrder(sorted, held, props.rowKey)
  return (
    <div onPointerEnter={() => hold(sorted.map(props.rowKey))} onPointerLeave={() => hold(undefined)}>
      <RowsTable
        {...rest}
        columns={columns}
        count={shown.length}
        rowAt={(index) => shown[index]}
        sorting={sorting}
        onSort={(key) => {
          hold(undefined)
          setSorting((now) => ({ key, down: now?.key === key ? !now.down : true }))
        }}
      />
    </div>
  )
}

function inOrder<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorting: Sorting | undefined): readonly Row[] {
  const by = columns.find(({ key }) => key === sorting?.key)?.sort
  if (by === undefined || sorting === undefined) return rows
  const way = sorting.down ? -1 : 1
  return [...rows].sort((a, b) => {
    const [left, right] = [by(a), by(b)]
    return left === right ? 0 : left < right ? -way : way
  })
}

/** Known rows in the held order, followed by new rows. */
function keepOrder<Row>(rows: readonly Row[], held: readonly string[], rowKey: (row: Row) => string): readonly Row[] {
  const byKey = new Map(rows.map((row) => [rowKey(row), row]))
  const kept = held.flatMap((key) => {
    const row = byKey.get(key)
    byKey.delete(key)
    return row === undefined ? [] : [row]
  })
  return [...kept, ...byKey.values()]
}

interface RowsTableProps<Row> extends TableProps<Row> {
  readonly count: number
  /** Undefined if not loaded yet. */
  readonly rowAt: (index: number) => Row | undefined
  readonly selection?: Selection<Row> | undefined
  /** Called with the range of rendered rows. */
  readonly onWindow?: (first: number, end: number) => void
  readonly sorting?: Sorting | undefined
  readonly onSort?: ((key: string) => void) | undefined
}

/** A virtualized table. Arrow keys, `j` and `k` move, Enter opens, `x` selects; with Shift, a range. */
export function RowsTable<Row>(props: RowsTableProps<Row>) {
  const { columns, count, empty, href, label, onSort, onWindow, rowAt, rowKey, selection, sorting } = props
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(800)
  const [active, setActive] = useState(0)
  const isLong = count > shortList
  const { after, before, end, first } = isLong ? rowWindow(count, rowHeight, top, height) : { first: 0, end: count, before: 0, after: 0 }
  useEffect(() => onWindow?.(first, end), [first, end, count])
  useEffect(() => {
    const element = box.current
    if (element === null || !isLong) return undefined
    const measure = (): void => {
      setTop(windowTop(element.scrollTop, rowHeight))
      setHeight(element.clientHeight)
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [isLong])
  /** The row moved to by keyboard, until it is rendered and focused. */
  const wanted = useRef<number | undefined>(undefined)
  const focusWanted = (): void => {
    const row = box.current?.querySelector<HTMLElement>(`tr[data-index="${wanted.current}"]`)
    if (row === null || row === undefined) return
    wanted.current = undefined
    // Unless the user has moved the focus elsewhere.
    if (document.activeElement === document.body || box.current?.contains(document.activeElement) === true) row.focus()
  }
  useEffect(() => {
    if (wanted.current !== undefined) focusWanted()
  })
  const marks = useRef(selection)
  marks.current = selection
  const [acts] = useState<RowActs>(() => ({
    focus: setActive,
    toggle: (index) => marks.current?.toggle(index),
    extend: (index) => marks.current?.extend(index, index),
  }))
  if (count === 0) return <>{empty}</>

  const moveTo = (index: number): void => {
    const next = Math.max(0, Math.min(count - 1, index))
    setActive(next)
    const element = box.current
    if (element !== null && isLong) {
      const [top, bottom] = [next * rowHeight, (next + 2) * rowHeight]
      if (top < element.scrollTop) element.scrollTop = top
      else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight
    }
    wanted.current = next
    requestAnimationFrame(focusWanted)
  }
  const extendTo = (index: number): void => {
    const next = Math.max(0, Math.min(count - 1, index))
    selection?.extend(active, next)
    moveTo(next)
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTableElement>): void => {
    if (event.metaKey || event.ctrlKey || event.altKey || !(event.target as HTMLElement).matches('tr, .mark input')) return
    const row = rowAt(active)
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => (event.shiftKey ? extendTo(active + 1) : moveTo(active + 1)),
      j: () => moveTo(active + 1),
      J: () => extendTo(active + 1),
      ArrowUp: () => (event.shiftKey ? extendTo(active - 1) : moveTo(active - 1)),
      k: () => moveTo(active - 1),
      K: () => extendTo(active - 1),
      PageDown: () => moveTo(active + 20),
      PageUp: () => moveTo(active - 20),
      Home: () => moveTo(0),
      End: () => moveTo(count - 1),
      Enter: () => {
        const to = row === undefined ? undefined : href?.(row)
        if (to !== undefined) router.go(to)
      },
      x: () => selection?.toggle(active),
      X: () => selection?.extend(active, active),
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const rows = Array.from({ length: end - first }, (_, offset) => first + offset)
  return (
    <div
      ref={box}
      class={isLong ? 'table-box long' : 'table-box'}
      onScroll={isLong ? (event) => setTop(windowTop(event.currentTarget.scrollTop, rowHeight)) : undefined}
    >
      <table
        class={columns[0]?.width === undefined ? undefined : 'fixed'}
        aria-label={label}
        aria-rowcount={count + 1}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr>
            {selection !== undefined && (
              <th class="mark" scope="col">
                <span class="visually-hidden">Selected</span>
              </th>
            )}
            {columns.map((column) => (
              <Heading key={column.key} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr class="spacer" style={{ height: `${before}px` }} />}
          {rows.map((index) => {
            const row = rowAt(index)
            return row === undefined ? (
              <tr key={`waiting-${index}`} class="waiting" aria-rowindex={index + 2}>
                <td colSpan={columns.length + (selection === undefined ? 0 : 1)}>
                  <span class="dim">…</span>
                </td>
              </tr>
            ) : (
              <TableRow
                key={rowKey(row)}
                row={row}
                index={index}
                name={rowKey(row)}
                columns={columns}
                to={href?.(row)}
                marked={selection?.has(row)}
                tabbable={index === Math.min(active, count - 1) || (active < first && index === first)}
                acts={acts}
              />
            )
          })}
          {after > 0 && <tr class="spacer" style={{ height: `${after}px` }} />}
        </tbody>
      </table>
    </div>
  )
}

function Heading<Row>(props: {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
  readonly onSort: ((key: string) => void) | undefined
}) {
  const { column, onSort, sorting } = props
  const sorted = sorting?.key === column.key
  const direction = !sorted ? undefined : sorting.down ? 'descending' : 'ascending'
  return (
    <th scope="col" class={classOf(column)} aria-sort={direction} style={column.width === undefined ? undefined : { width: column.width }}>
      {column.sort === undefined || onSort === undefined ? (
        column.title
      ) : (
        <button type="button" onClick={() => onSort(column.key)}>
          {column.title}
          {sorted && (
            <span class="sort-sign" aria-hidden="true">
              {sorting.down ? '↓' : '↑'}
            </span>
          )}
        </button>
      )}
    </th>
  )
}
