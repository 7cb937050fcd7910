import { Component } from 'preact'
import { router } from '../router.js'
import { Link } from './link.js'
import type { Column } from './table.js'

/** Callbacks of a row; the same object for all rows and renders of a table. */
export interface RowActs {
  readonly focus: (index: number) => void
  readonly toggle: (index: number) => void
  readonly extend: (index: number) => void
}

interface TableRowProps<Row> {
  readonly row: Row
  readonly index: number
  readonly name: string
  readonly columns: readonly Column<Row>[]
  readonly to: string | undefined
  /** Whether the row is selected; undefined if rows of this table cannot be selected. */
  readonly marked: boolean | undefined
  readonly tabbable: boolean
  readonly acts: RowActs
}

/** A table row, re-rendered only when one of its props changes: a long list scrolls by many rows per frame. */
export class TableRow<Row> extends Component<TableRowProps<Row>> {
  override shouldComponentUpdate(next: TableRowProps<Row>): boolean {
    return (Object.keys(next) as (keyof TableRowProps<Row>)[]).some((name) => next[name] !== this.props[name])
  }

  override render() {
    const { acts, columns, index, marked, name, row, tabbable, to } = this.props
    return (
      <tr
        data-index={index}
        aria-rowindex={index + 2}
        aria-selected={marked}
        tabIndex={tabbable ? 0 : -1}
        onFocusIn={() => acts.focus(index)}
        onClick={(event) => {
          if (to === undefined || (event.target as HTMLElement).closest('a, button, input, label') !== null) return
          if (getSelection()?.toString() === '') router.go(to)
        }}
        class={to === undefined ? undefined : 'door'}
      >
        {marked !== undefined && (
          <td class="mark">
            <input
              type="checkbox"
              aria-label={`Select ${name}`}
              checked={marked}
              onClick={(event) => (event.shiftKey ? acts.extend(index) : acts.toggle(index))}
            />
          </td>
        )}
        {columns.map((column, position) => (
          <Cell key={column.key} column={column} row={row} to={position === 0 ? to : undefined} />
        ))}
      </tr>
    )
  }
}

function Cell<Row>({ column, row, to }: { readonly column: Column<Row>; readonly row: Row; readonly to: string | undefined }) {
  const content = column.cell(row)
  return <td class={classOf(column)}>{to === undefined ? content : <Link to={to}>{content}</Link>}</td>
}

/** CSS classes of the cells of a column, including its heading. */
export function classOf<Row>({ hideOn, numeric, width }: Column<Row>): string | undefined {
  const names = [
    numeric === true ? 'numeric' : '',
    hideOn === undefined ? '' : `hide-${hideOn}`,
    width?.endsWith('%') === true ? 'clips' : '',
  ].filter((name) => name !== '')
  return names.length === 0 ? undefined : names.join(' ')
}
