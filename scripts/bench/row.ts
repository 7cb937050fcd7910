/** A measured value. `pass`: whether it meets its `budget`; a row without a budget is informational. */
export interface BenchRow {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly budget?: string
  readonly pass?: boolean
}

/** A row with an upper limit: `below('idle hook', 1.2, 'ns', 5)`. */
export function below(name: string, value: number, unit: string, limit: number): BenchRow {
  return { name, value, unit, budget: `< ${limit} ${unit}`, pass: value < limit }
}

/** Formats rows as a readable table. */
export function formatRows(rows: readonly BenchRow[]): string {
  const cells = rows.map((row) => [
    row.name,
    `${row.value.toFixed(2)} ${row.unit}`,
    row.budget ?? '',
    row.pass === undefined ? '' : row.pass ? 'ok' : 'OVER',
  ])
  const table = [['what', 'measured', 'budget', ''], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
