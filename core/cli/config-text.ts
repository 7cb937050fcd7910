/** Adds plugins to the text of a configuration: what `zin add` writes. Pure. */

/** Returns the text with the plugins of `zin/plugins` imported and listed, or undefined if the list cannot be found. */
export function withPlugins(text: string, factories: readonly string[]): string | undefined {
  return factories.reduce<string | undefined>((before, name) => before && withPlugin(before, name), text)
}

function withPlugin(text: string, factory: string): string | undefined {
  const listed = withEntry(text, factory)
  return listed && withImport(listed, factory)
}

function withImport(text: string, factory: string): string {
  const found = /import\s*\{([^}]*)\}\s*from\s*(['"])zin\/plugins\2/.exec(text)
  if (found === null) {
    const line = `import { ${factory} } from 'zin/plugins'\n`
    const last = [...text.matchAll(/^import\s[^;]*?from\s*['"][^'"]+['"];?[^\S\n]*\n/gm)].at(-1)
    const at = last === undefined ? 0 : last.index + last[0].length
    return text.slice(0, at) + line + text.slice(at)
  }
  const [statement, names = ''] = found
  const known = names.split(',').map((name) => name.trim())
  if (known.includes(factory)) return text
  const kept = names.trimEnd()
  const isLong = names.includes('\n')
  const added = isLong ? `${kept.replace(/,$/, '')},\n  ${factory},\n` : `${kept.replace(/,$/, '')}, ${factory} `
  return text.slice(0, found.index) + statement.replace(`{${names}}`, () => `{${added}}`) + text.slice(found.index + statement.length)
}

function withEntry(text: string, factory: string): string | undefined {
  const code = blanked(text)
  const list = /\bplugins\s*:\s*\[/.exec(code)
  if (list === null) {
    const call = /\bdefineConfig\(\s*\{/.exec(code)
    if (call === null) return undefined
    const at = call.index + call[0].length
    const isEmpty = /^\s*\}/.test(code.slice(at))
    return `${text.slice(0, at)} plugins: [${factory}()]${isEmpty ? ' ' : ','}${text.slice(at)}`
  }
  const start = list.index + list[0].length
  const end = closing(code, start)
  if (end === undefined) return undefined
  if (new RegExp(`(?<![\\w.])${factory}\\s*\\(`).test(code.slice(start, end))) return text
  const inside = code.slice(start, end)
  const last = start + inside.trimEnd().length
  if (inside.trim() === '') return `${text.slice(0, start)}${factory}()${text.slice(end)}`
  const comma = code[last - 1] === ',' ? '' : ','
  const indent = /\n([^\S\n]*)\S[^\n]*\s*$/.exec(inside)?.[1]
  if (indent === undefined) return `${text.slice(0, last)}${comma} ${factory}()${text.slice(last)}`
  // After a comment at the end of the last line.
  const lineEnd = text.indexOf('\n', last)
  return `${text.slice(0, last)}${comma}${text.slice(last, lineEnd)}\n${indent}${factory}(),${text.slice(lineEnd)}`
}

/** Position of the bracket that closes a list. */
function closing(code: string, start: number): number | undefined {
  let depth = 1
  for (let at = start; at < code.length; at += 1) {
    if ('[({'.includes(code[at] as string)) depth += 1
    if ('])}'.includes(code[at] as string)) depth -= 1
    if (depth === 0) return at
  }
  return undefined
}

/** The text with spaces instead of strings and comments, so that positions stay. */
function blanked(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, (found) =>
    found.replace(/[^\n]/g, ' '),
  )
}
