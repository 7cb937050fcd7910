import stringWidth from 'fast-string-width'

type Row = readonly string[]

interface Column {
  /** Width of the widest cell. */
  readonly width: number
  /** Width of the longest word. */
  readonly word: number
  /** Width of the head, or of the longest word in nine of ten cells if that is longer. */
  readonly usualWord: number
}

const gap = '  '
const indent = '    '
/** Consecutive spaces are part of the text and are not broken. */
const wordEnd = /(?<! ) (?! )/
/** Minimum columns for prose next to other columns. */
const proseRoom = 24
/** A longer label does not indent the lines that continue it. */
const labelShare = 0.4
/** Minimum width of a column of single words when squeezed. */
const leastWidth = 8

/** Formats rows in aligned columns, each row on one line of any length; for pipes. */
export function plainTable(heads: Row, rows: readonly Row[]): string {
  const widths = measure(heads, rows).map((column) => column.width)
  return [heads, ...rows].map((row) => layRow(row, widths).join('\n')).join('\n')
}

/**
 * Formats rows in aligned columns that fit `width` if the words allow it. Nothing is truncated and no word is broken, so that everything
 * can be copied: cells wrap between words, prose in the last column moves below its row if the other columns leave too little room, and
 * after a word that is wider than its column the row continues on the next line.
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

/** Breaks text between words into lines of at most `width` columns; a longer word gets a separate line. Empty text has no lines. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text === '' ? [] : text.split(wordEnd)) {
    const line = lines.at(-1)
    if (line !== undefined && stringWidth(line) + 1 + stringWidth(word) <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * Breaks one line of text between words into lines of at most `width` columns. They continue below the text after a short label, which ends
 * with two spaces, otherwise below the first word, and two columns further right if the line is not indented. No word is broken.
 */
export function wrapLine(line: string, width: number): string {
  // The width of a tab is not known.
  if (stringWidth(line) <= width || line.includes('\t')) return line
  const indented = line.length - line.trimStart().length
  const label = stringWidth(/^ *[^ ]+(?: [^ ]+)* {2,}(?=[^ ])/.exec(line)?.[0] ?? '')
  const start = ' '.repeat(label > 0 && label <= width * labelShare ? label : indented || 2)
  const lines: string[] = []
  for (const [word] of line.matchAll(/ *[^ ]+/g)) {
    const last = lines.at(-1)
    if (last === undefined) lines.push(word)
    else if (stringWidth(last) + stringWidth(word) <= width) lines[lines.length - 1] = last + word
    else lines.push(start + word.trimStart())
  }
  return lines.join('\n')
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

/** Computes widths that fit: first columns that wrap get narrower, then columns with a few long words, then all, the widest one first. */
function squeeze(columns: readonly Column[], width: number): number[] {
  const widths = columns.map((column) => column.width)
  let excess = widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1) - width
  const limits = [
    (column: Column) => column.word,
    (column: Column) => column.usualWord,
    (column: Column) => Math.min(column.usualWord, leastWidth),
  ]
  for (const limit of limits) {
    // A word that is too wide for the last column would extend beyond the table.
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

/** Lays out one row as lines. Cells are side by side; after a cell that is too wide, the next one starts on a new line. */
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
