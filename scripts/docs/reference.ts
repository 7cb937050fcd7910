import { readFileSync } from 'node:fs'
import { coreHooks } from '../../core/hooks/catalogue.js'
import type { HookSpec } from '../../core/hooks/kinds.js'
import { markdownTable } from '../../core/testing/readme.js'
import { fieldsTable, valuesTable } from './fields.js'

/** The reference of the plugin API: written by hand, except for the blocks between `<!-- made: … -->` and `<!-- end -->`. */
export const referencePath = 'core/PLUGIN-API.md'

/** The generators of the blocks, by the first word after `made:`. */
const blocks: Readonly<Record<string, (...args: readonly string[]) => string>> = {
  /** The fields of a type: `fields <type> <file>`. */
  fields: (type = '', path = '') => markdownTable(fieldsTable(path, type)),
  /** The functions that an entry point exports: `functions <file>`. */
  functions: (path = '') => markdownTable(valuesTable(path)),
  /** The hooks of the core. */
  hooks: () =>
    markdownTable({
      head: ['hook', 'kind', 'fires'],
      rows: Object.entries(coreHooks as Readonly<Record<string, HookSpec>>).map(([name, { kind, args, summary }]) => [
        `\`${name}(${args.join(', ')})\``,
        kind,
        summary,
      ]),
    }),
  /** The content of a file: `file <path>`. */
  file: (path = '') => `\`\`\`ts\n${readFileSync(path, 'utf8').trimEnd()}\n\`\`\``,
}

/** Returns the reference with its blocks regenerated. */
export function referenceText(markdown: string): string {
  return markdown.replaceAll(/(<!-- made: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g, (_all, start: string, what: string, end: string) => {
    const [name = '', ...args] = what.split(' ')
    const made = blocks[name]
    if (made === undefined) throw new Error(`${referencePath}: unknown block "${what}"; use one of ${Object.keys(blocks).join(', ')}`)
    return `${start}\n${made(...args)}\n\n${end}`
  })
}
