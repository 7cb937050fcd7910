/** Control, format and unassigned characters and line separators: they can end lines or disguise code. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]/gu
const longestComment = 200

/** Returns text of a document as a TypeScript string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&').replaceAll(hidden, escaped)}'`
}

/** Returns text of a document for use inside a comment: one line that cannot end the comment or address a tool. */
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

/** Returns a name of a document as a key of a type or an object. */
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
