import { exact } from '../format.js'
import { setQuery } from '../router.js'

/** Pagination of a list, newest first, using `page` in the query. */
export function Pages(props: {
  readonly of: string
  readonly perPage: number
  readonly pagination: { readonly page: number; readonly totalPages: number; readonly total: number }
}) {
  const { of, perPage } = props
  const { page, totalPages, total } = props.pagination
  if (totalPages <= 1) return null
  const to = (next: number) => setQuery({ page: next === 1 ? undefined : String(next), entry: undefined })
  return (
    <nav class="pages" aria-label={`Pages of ${of}`}>
      <button type="button" class="button" disabled={page <= 1} onClick={() => to(page - 1)}>
        Newer
      </button>
      <span class="dim">
        {exact((page - 1) * perPage + 1)} to {exact(Math.min(total, page * perPage))} of {exact(total)}
      </span>
      <button type="button" class="button" disabled={page >= totalPages} onClick={() => to(page + 1)}>
        Older
      </button>
    </nav>
  )
}
