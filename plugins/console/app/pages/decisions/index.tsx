import { useEffect, useState } from 'preact/hooks'
import type { Decision, DecisionPage } from 'zin/plugins/decisions'
import type { ConsoleModule, ConsolePlace } from '../../../contract.js'
import { grouped } from '../../../shared/group.js'
import { useStream } from '../../data/stream.js'
import { useData } from '../../data/use-data.js'
import { exact, plural } from '../../format.js'
import { setQuery } from '../../router.js'
import { Card, Page } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { Timeline } from './timeline.js'

export const decisionPages: ConsoleModule = () => ({
  pages: [
    { path: '/decisions', title: 'Decisions', plugin: 'decisions', nav: { icon: 'decision', order: 60, key: 'd' }, view: DecisionsPage },
  ],
})

const kinds = ['alert', 'breaker', 'canary', 'failover', 'restart', 'scale']
const ranges = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const
const perPage = 50

function DecisionsPage({ query }: ConsolePlace) {
  const [kind, subject, range, page] = ['kind', 'subject', 'range', 'page'].map((name) => query.get(name) ?? '')
  const since = useSince(range ?? '')
  const filter = new URLSearchParams(Object.entries({ kind, subject, since }).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  const list = useData<DecisionPage>(`/api/decisions?${filter}${filter.size === 0 ? '' : '&'}limit=${perPage}&page=${page || 1}`)
  const [fresh, setFresh] = useState<readonly Decision[]>([])
  useEffect(() => setFresh([]), [filter.toString(), page])
  filter.delete('since')
  useStream(page === '' || page === '1' ? `/api/decisions/events${filter.size === 0 ? '' : `?${filter}`}` : undefined, (event, data) => {
    if (event === 'decision') setFresh((before) => [data as Decision, ...before].slice(0, perPage))
  })
  const unseen = fresh.filter(({ id }) => !list.data?.decisions.some((one) => one.id === id))
  return (
    <Page title="Decisions">
      <Filters kind={kind ?? ''} subject={subject ?? ''} range={range ?? ''} />
      {unseen.length > 0 && (
        <button
          type="button"
          class="button fresh"
          onClick={() => {
            setFresh([])
            list.reload()
          }}
        >
          Show {plural(unseen.length, 'new decision')}
        </button>
      )}
      <Loaded from={list}>
        {({ decisions, pagination }) =>
          decisions.length === 0 ? (
            <Card>
              <Nothing filtered={kind !== '' || subject !== '' || range !== ''} />
            </Card>
          ) : (
            <>
              {byDay(decisions).map(([day, ofDay]) => (
                <Card key={day} title={day} flush>
                  <Timeline decisions={ofDay} />
                </Card>
              ))}
              <Pages page={pagination.page} pages={pagination.totalPages} total={pagination.total} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** Fixed when the range is chosen, so that the address of the request stays the same. */
function useSince(range: string): string {
  const [since, set] = useState({ range, at: Date.now() })
  if (since.range !== range) set({ range, at: Date.now() })
  const length = ranges[range as keyof typeof ranges]
  return length === undefined ? '' : String(since.at - length)
}

function Filters({ kind, range, subject }: { readonly kind: string; readonly subject: string; readonly range: string }) {
  return (
    <div class="filters">
      <label>
        <span class="visually-hidden">Kind</span>
        <select class="select" value={kind} onChange={(event) => setQuery({ kind: event.currentTarget.value, page: undefined })}>
          <option value="">All kinds</option>
          {[...new Set([...kinds, ...(kind === '' ? [] : [kind])])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="visually-hidden">Range</span>
        <select class="select" value={range} onChange={(event) => setQuery({ range: event.currentTarget.value, page: undefined })}>
          <option value="">Any time</option>
          <option value="hour">Last hour</option>
          <option value="day">Last 24 hours</option>
          <option value="week">Last 7 days</option>
        </select>
      </label>
      <label class="grow">
        <span class="visually-hidden">Subject</span>
        <input
          class="input"
          type="search"
          placeholder="Subject, such as worker:email-sender"
          value={subject}
          maxLength={200}
          onChange={(event) => setQuery({ subject: event.currentTarget.value.trim(), page: undefined })}
        />
      </label>
    </div>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="No decision matches">
      <button type="button" class="button" onClick={() => setQuery({ kind: '', subject: '', range: '', page: '' })}>
        Clear the filters
      </button>
    </Empty>
  ) : (
    <Empty title="Nothing was decided yet">
      What the app does by itself appears here with its reason: canaries, scaling, breakers, failover and alerts.
    </Empty>
  )
}

function byDay(decisions: readonly Decision[]): readonly (readonly [string, readonly Decision[]])[] {
  const days = grouped(decisions, ({ at }) =>
    new Date(at).toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
  )
  return [...days]
}

function Pages({ page, pages, total }: { readonly page: number; readonly pages: number; readonly total: number }) {
  if (pages <= 1) return null
  const to = (next: number) => setQuery({ page: next === 1 ? undefined : String(next) })
  return (
    <nav class="pages" aria-label="Pages of decisions">
      <button type="button" class="button" disabled={page <= 1} onClick={() => to(page - 1)}>
        Newer
      </button>
      <span class="dim">
        {exact((page - 1) * perPage + 1)} to {exact(Math.min(total, page * perPage))} of {exact(total)}
      </span>
      <button type="button" class="button" disabled={page >= pages} onClick={() => to(page + 1)}>
        Older
      </button>
    </nav>
  )
}
