const maxBytes = 200

/** Characters that end up as something else: separators, wildcards, control characters, and those that reverse text. */
const harmful = /[\u0000-\u001f\u007f-\u009f"*:<>?|\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/**
 * Returns the file name of a client without anything that a file system, a shell or a reader could take for something else: no folders,
 * control characters, leading dots, trailing dots or spaces, names of devices; at most 200 bytes, with its extension. Never empty.
 */
export function safeFileName(given: string): string {
  const base = given.split(/[/\\]/).at(-1) ?? ''
  const plain = trimmed(Buffer.from(base).toString().normalize('NFC').replace(harmful, ''))
  if (plain === '') return 'file'
  return shortened(reserved.test(plain) ? `_${plain}` : plain)
}

/** Without dots and spaces at both ends. An expression that ends with `[.\s]+$` would look at every run of them again and again. */
function trimmed(name: string): string {
  const isDropped = (character: string | undefined): boolean => character !== undefined && /[.\s]/.test(character)
  let [start, end] = [0, name.length]
  while (isDropped(name[start])) start++
  while (end > start && isDropped(name[end - 1])) end--
  return name.slice(start, end)
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  const stem = Buffer.from(name.slice(0, name.length - extension.length))
  let end = maxBytes - Buffer.byteLength(extension)
  // Not within a character.
  while (((stem[end] ?? 0) & 0xc0) === 0x80) end--
  return stem.toString('utf8', 0, end) + extension
}
