const longestBytes = 200

/** Characters that end up as something else: separators, wildcards, control characters, and those that reverse text. */
const harmful = /[\u0000-\u001f\u007f-\u009f"*:<>?|\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/**
 * Returns the file name of a client without anything that a file system, a shell or a reader could take for something else: no folders,
 * control characters, leading dots, trailing dots or spaces, names of devices; at most 200 bytes, with its extension. Never empty.
 */
export function safeFileName(given: string): string {
  const base = given.split(/[/\\]/).at(-1) ?? ''
  const plain = Buffer.from(base)
    .toString()
    .normalize('NFC')
    .replace(harmful, '')
    .replace(/^[.\s]+|[.\s]+$/g, '')
  if (plain === '') return 'file'
  return shortened(reserved.test(plain) ? `_${plain}` : plain)
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= longestBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  let stem = name.slice(0, name.length - extension.length)
  const most = longestBytes - Buffer.byteLength(extension)
  while (Buffer.byteLength(stem) > most) stem = Array.from(stem).slice(0, -1).join('')
  return stem + extension
}
