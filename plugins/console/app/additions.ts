import type { ConsolePage, ConsolePanel, ConsolePlace } from '../contract.js'
import { session } from './data/session.js'
import { Value } from './data/signal.js'
import { placeOf } from './router.js'

interface Additions {
  readonly pages: readonly ConsolePage[]
  readonly panels: readonly ConsolePanel[]
}

/** The pages and panels of all modules. */
export const additions = new Value<Additions>({ pages: [], panels: [] })

/** Whether the caller may see the page. Checked on each use, because the caller may sign in as someone else. */
function isShown({ may }: ConsolePage): boolean {
  return may === undefined || session.value?.may[may] === true
}

/** Returns the page at a path. Literal paths take precedence over paths with parameters. */
export function pageAt(path: string, search: string): { readonly page: ConsolePage; readonly place: ConsolePlace } | undefined {
  const sorted = additions.value.pages.filter(isShown).sort((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))
  for (const page of sorted) {
    const place = placeOf(page.path, path, search)
    if (place !== undefined) return { page, place }
  }
  return undefined
}

/** Returns the pages with a navigation entry, in order. */
export function navigation(): readonly (ConsolePage & { readonly nav: NonNullable<ConsolePage['nav']> })[] {
  return additions.value.pages
    .filter((page): page is ConsolePage & { nav: NonNullable<ConsolePage['nav']> } => page.nav !== undefined && isShown(page))
    .sort((a, b) => (a.nav.order ?? 1000) - (b.nav.order ?? 1000))
}
