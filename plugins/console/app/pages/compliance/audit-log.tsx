import { useState } from 'preact/hooks'
import type { ConsolePlace } from '../../../contract.js'
import { useData } from '../../data/use-data.js'
import { exact } from '../../format.js'
import { setQuery } from '../../router.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { Card, Facts, Page } from '../../ui/layout.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { FullTime, Time } from '../../ui/time.js'
import { Integrity } from './integrity.js'
import type { Entry, EntryPage } from './types.js'

const perPage = 50
const ranges = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const
const outcomes = ['asked', 'done', 'failed', 'completed', 'ended', 'noted', 'intact', 'broken']
const fields = ['action', 'target', 'actor', 'outcome'] as const

/** Who did what, newest first. */
export function AuditLog({ query }: ConsolePlace) {
  const of = (name: string): string => query.get(name) ?? ''
  const since = useSince(of('range'))
  const filter = new URLSearchParams(
    [...fields.map((name) => [name, of(name)] as const), ['since', since] as const].flatMap(([name, value]) =>
      value ? [[name, value]] : [],
    ),
  )
  const isFiltered = filter.size > 0
  filter.set('limit', String(perPage))
  filter.set('page', of('page') || '1')
  const list = useData<EntryPage>(`/api/compliance/audit?${filter}`)
  return (
    <Page title="Audit log">
      <Integrity onChange={list.reload} />
      <Filters of={of} />
      <Loaded from={list}>
        {({ entries, pagination }) => (
          <>
            <Selected entry={entries.find(({ id }) => String(id) === of('entry'))} />
            <Card flush>
              <Table
                label="Entries of the audit log"
                rows={entries}
                columns={columns}
                rowKey={({ id }) => String(id)}
                href={({ id }) => `/audit?${withEntry(query, id)}`}
                empty={<Nothing filtered={isFiltered} />}
              />
            </Card>
            <Pages page={pagination.page} pages={pagination.totalPages} total={pagination.total} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const tones: Readonly<Record<string, Tone>> = { failed: 'bad', broken: 'bad', done: 'neutral', completed: 'neutral', intact: 'ok' }

const columns: readonly Column<Entry>[] = [
  { key: 'at', title: 'When', width: '116px', cell: ({ at }) => <Time at={at} /> },
  { key: 'action', title: 'Action', width: '138px', cell: ({ action }) => <span class="mono">{action}</span> },
  { key: 'target', title: 'Target', hideOn: 'phone', cell: ({ target }) => <span class="mono">{target}</span> },
  { key: 'actor', title: 'Actor', hideOn: 'phone', cell: ({ actor }) => actor },
  { key: 'outcome', title: 'Outcome', width: '104px', cell: ({ outcome }) => <Badge tone={tones[outcome] ?? 'neutral'}>{outcome}</Badge> },
  { key: 'reason', title: 'Reason', hideOn: 'tablet', cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? '–'}</span> },
]

function withEntry(query: URLSearchParams, id: number): string {
  const next = new URLSearchParams(query)
  next.set('entry', String(id))
  return String(next)
}

/** All of one entry. Digests are equal for equal states, and tell nothing else. */
function Selected({ entry }: { readonly entry: Entry | undefined }) {
  if (entry === undefined) return null
  const { action, actor, address, after, at, before, device, hash, id, outcome, reason, ref, requestId, target, via } = entry
  const texts: readonly (readonly [name: string, text: string | number | null])[] = [
    ['Actor', `${actor}, by ${via}`],
    ['Target', target],
    ['Outcome', outcome],
    ['Reason', reason],
    ['Address', address],
    ['Device', device],
    ['Request', requestId],
    ['Follows entry', ref],
    ['State before', before],
    ['State after', after],
    ['Hash', hash],
  ]
  const close = (
    <button type="button" class="button small" onClick={() => setQuery({ entry: undefined })}>
      Close
    </button>
  )
  return (
    <Card title={`Entry ${id}: ${action}`} aside={close}>
      <Facts
        of={[
          ['When', <FullTime key="at" at={at} />],
          ...texts.flatMap(([name, text]) =>
            text === null
              ? []
              : [
                  [
                    name,
                    <span key={name} class="mono breaks">
                      {text}
                    </span>,
                  ] as const,
                ],
          ),
        ]}
      />
    </Card>
  )
}

/** Fixed when the range is chosen, so that the address of the request stays the same. */
function useSince(range: string): string {
  const [since, set] = useState({ range, at: Date.now() })
  if (since.range !== range) set({ range, at: Date.now() })
  const length = ranges[range as keyof typeof ranges]
  return length === undefined ? '' : String(since.at - length)
}

const inputs = [
  ['action', 'Action', 'Action, such as worker.stop'],
  ['target', 'Target', 'Target, such as worker:email-sender'],
  ['actor', 'Actor', 'Actor, such as user:42'],
] as const

function Filters({ of }: { readonly of: (name: string) => string }) {
  const change = (name: string, value: string): void => setQuery({ [name]: value, page: undefined, entry: undefined })
  return (
    <div class="filters">
      {inputs.map(([name, label, placeholder]) => (
        <label key={name} class="grow">
          <span class="visually-hidden">{label}</span>
          <input
            class="input"
            type="search"
            placeholder={placeholder}
            value={of(name)}
            maxLength={250}
            onChange={(event) => change(name, event.currentTarget.value.trim())}
          />
        </label>
      ))}
      <label>
        <span class="visually-hidden">Outcome</span>
        <select class="select" value={of('outcome')} onChange={(event) => change('outcome', event.currentTarget.value)}>
          <option value="">Any outcome</option>
          {outcomes.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="visually-hidden">Range</span>
        <select class="select" value={of('range')} onChange={(event) => change('range', event.currentTarget.value)}>
          <option value="">Any time</option>
          <option value="hour">Last hour</option>
          <option value="day">Last 24 hours</option>
          <option value="week">Last 7 days</option>
        </select>
      </label>
    </div>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  if (!filtered) return <Empty title="Nothing is recorded yet">What operators do and how jobs end appears here.</Empty>
  return (
    <Empty title="No entry matches">
      <button
        type="button"
        class="button"
        onClick={() => setQuery({ action: '', target: '', actor: '', outcome: '', range: '', page: '' })}
      >
        Clear the filters
      </button>
    </Empty>
  )
}

function Pages({ page, pages, total }: { readonly page: number; readonly pages: number; readonly total: number }) {
  if (pages <= 1) return null
  const to = (next: number) => setQuery({ page: next === 1 ? undefined : String(next), entry: undefined })
  return (
    <nav class="pages" aria-label="Pages of the audit log">
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
