import { useEffect, useState } from 'preact/hooks'
import type { Decision, DecisionPage } from 'zin/plugins/decisions'
import type { ConsoleModule, ConsolePlace } from '../../../contract.js'
import { grouped } from '../../../shared/group.js'
import { useStream } from '../../data/stream.js'
import { useData } from '../../data/use-data.js'
import { plural } from '../../format.js'
import { setQuery } from '../../router.js'
import { FilterInput, FilterSelect, RangeSelect, useSince } from '../../ui/filters.js'
import { Card, Page } from '../../ui/layout.js'
import { Pages } from '../../ui/pages.js'
import { Empty, Loaded } from '../../ui/states.js'
import { Timeline } from './timeline.js'

export const decisionPages: ConsoleModule = () => ({
  pages: [
    {
      path: '/decisions',
      title: 'Decisions',
      plugin: 'decisions',
      may: 'operate',
      nav: { icon: 'decision', order: 60, key: 'd' },
      view: DecisionsPage,
    },
  ],
})

const kinds = ['alert', 'breaker', 'canary', 'failover', 'restart', 'rollout', 'scale', 'start']
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
              <Pages of="decisions" perPage={perPage} pagination={pagination} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Filters({ kind, range, subject }: { readonly kind: string; readonly subject: string; readonly range: string }) {
  const offered = [...new Set([...kinds, ...(kind === '' ? [] : [kind])])]
  return (
    <div class="filters">
      <FilterSelect name="kind" label="Kind" value={kind} any="All kinds" options={offered.map((one) => [one, one] as const)} />
      <RangeSelect value={range} />
      <FilterInput name="subject" label="Subject" placeholder="Subject, such as worker:email-sender" value={subject} maxLength={200} />
    </div>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="No matching decisions">
      <button type="button" class="button" onClick={() => setQuery({ kind: '', subject: '', range: '', page: '' })}>
        Clear filters
      </button>
    </Empty>
  ) : (
    <Empty title="No decisions yet">
      Automatic actions and their reasons appear here: canaries, scaling, breakers, failover and alerts.
    </Empty>
  )
}

function byDay(decisions: readonly Decision[]): readonly (readonly [string, readonly Decision[]])[] {
  const days = grouped(decisions, ({ at }) =>
    new Date(at).toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
  )
  return [...days]
}
