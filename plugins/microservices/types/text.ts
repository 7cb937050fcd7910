/** Control, format and unassigned characters and line separators: they end lines, or make code look like other code. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]/gu
const longestComment = 200

/** Text of a document as a string literal of TypeScript. */
export function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&').replaceAll(hidden, escaped)}'`
}

/** Text of a document as the inside of a comment: one line that neither ends the comment nor instructs a tool. */
export function comment(text: string): string {
  const line = Array.from(
    text
      .slice(0, 4 * longestComment)
      .replaceAll(hidden, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
  const short = line.length > longestComment ? `${line.slice(0, longestComment).join('')}…` : line.join('')
  return short.replaceAll('*/', '*\\/').replaceAll('@', '\\@')
}

/** A name of a document as the key of a type or an object. */
export function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : literal(name)
}

/** `user-notes` → `UserNotes`. */
export function pascalCase(slug: string): string {
  return slug.replaceAll(/(?:^|-)([a-z0-9])/g, (_, first: string) => first.toUpperCase())
}

function escaped(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
}
