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

/** Whether the page is there for the caller, who may sign in as somebody else meanwhile. */
function isShown({ may }: ConsolePage): boolean {
  return may === undefined || session.value?.may[may] === true
}

/** The page at an address. A literal path comes before one with parameters. */
export function pageAt(path: string, search: string): { readonly page: ConsolePage; readonly place: ConsolePlace } | undefined {
  const sorted = additions.value.pages.filter(isShown).sort((a, b) => Number(a.path.includes(':')) - Number(b.path.includes(':')))
  for (const page of sorted) {
    const place = placeOf(page.path, path, search)
    if (place !== undefined) return { page, place }
  }
  return undefined
}

/** The pages of the navigation in their order. */
export function navigation(): readonly (ConsolePage & { readonly nav: NonNullable<ConsolePage['nav']> })[] {
  return additions.value.pages
    .filter((page): page is ConsolePage & { nav: NonNullable<ConsolePage['nav']> } => page.nav !== undefined && isShown(page))
    .sort((a, b) => (a.nav.order ?? 1000) - (b.nav.order ?? 1000))
}
