import stringWidth from 'fast-string-width'

type Row = readonly string[]

interface Column {
  /** Of the widest cell. */
  readonly width: number
  /** Of the longest word. */
  readonly word: number
  /** Of the head, and of the longest word in nine of ten cells. */
  readonly usualWord: number
}

const gap = '  '
const indent = '    '
/** Several spaces in a row are part of what is shown, and stay together. */
const wordEnd = /(?<! ) (?! )/
/** The least room in which prose beside other columns is pleasant to read. */
const proseRoom = 24
/** The least width that a column of single words is squeezed to. */
const leastWidth = 8

/** Rows in aligned columns, each row on one line, however long it is: for pipes. */
export function plainTable(heads: Row, rows: readonly Row[]): string {
  const widths = measure(heads, rows).map((column) => column.width)
  return [heads, ...rows].map((row) => layRow(row, widths).join('\n')).join('\n')
}

/**
 * Rows in aligned columns that fit `width` where words allow. Nothing is cut and no word is broken, so that all of it can be copied:
 * cells wrap between words, prose in the last column goes below its row when the others leave it no room, and after a word that is
 * wider than its column the row goes on below.
 */
export function fittedTable(heads: Row, rows: readonly Row[], width: number, emphasize = (line: string): string => line): string {
  const columns = measure(heads, rows)
  const last = columns.at(-1)
  const others = columns.slice(0, -1)
  const roomForLast = width - others.reduce((sum, column) => sum + column.word + gap.length, 0)
  const below = last !== undefined && others.length > 0 && isProse(last) && roomForLast < Math.min(last.width, proseRoom)
  const widths = squeeze(below ? others : columns, width)
  const lines = (row: Row): string[] => {
    if (!below) return layRow(row, widths)
    const text = row.at(-1) ?? ''
    return [...layRow(row.slice(0, -1), widths), ...wrapWords(text, width - indent.length).map((line) => indent + line)]
  }
  return [lines(heads).map(emphasize), ...rows.map(lines)].flat().join('\n')
}

/** Lines of at most `width` columns, broken between words; a longer word has a line of its own. No text: no line. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text === '' ? [] : text.split(wordEnd)) {
    const line = lines.at(-1)
    if (line !== undefined && stringWidth(line) + 1 + stringWidth(word) <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

const isProse = ({ width, word }: Column): boolean => word < width

function measure(heads: Row, rows: readonly Row[]): Column[] {
  return heads.map((head, index) => {
    const cells = [head, ...rows.map((row) => row[index] ?? '')]
    const words = cells.map((cell) => widest(cell.split(wordEnd))).sort((a, b) => a - b)
    return {
      width: widest(cells),
      word: words.at(-1) ?? 0,
      usualWord: Math.max(stringWidth(head), words[Math.floor((words.length - 1) * 0.9)] ?? 0),
    }
  })
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 0)
}

/** Widths that fit: first what wraps gets narrower, then columns with a few long words, then all, the widest one first. */
function squeeze(columns: readonly Column[], width: number): number[] {
  const widths = columns.map((column) => column.width)
  let excess = widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1) - width
  const limits = [
    (column: Column) => column.word,
    (column: Column) => column.usualWord,
    (column: Column) => Math.min(column.usualWord, leastWidth),
  ]
  for (const limit of limits) {
    // Nothing follows the last column, so a word that is too wide for it would leave the table.
    const least = columns.map((column, index) => (index === columns.length - 1 ? column.word : limit(column)))
    for (; excess > 0; excess--) {
      const spare = widths.map((one, index) => (one > (least[index] ?? 0) ? one : 0))
      const index = spare.indexOf(Math.max(...spare))
      if (spare[index] === 0) break
      widths[index] = (widths[index] ?? 0) - 1
    }
  }
  return widths
}

/** The lines of one row. Cells are side by side; after a cell that is too wide, the next one starts on a new line. */
function layRow(row: Row, widths: readonly number[]): string[] {
  const lines: string[] = []
  let top = 0
  let offset = 0
  for (const [index, width] of widths.entries()) {
    const cell = row[index] ?? ''
    const texts = stringWidth(cell) <= width ? [cell] : wrapWords(cell, width)
    for (const [n, text] of texts.entries()) {
      const line = lines[top + n] ?? ''
      if (text !== '') lines[top + n] = line + ' '.repeat(offset - stringWidth(line)) + text
    }
    if (texts.some((text) => stringWidth(text) > width)) top += texts.length
    offset += width + gap.length
  }
  return Array.from(lines, (line) => line ?? '')
}
