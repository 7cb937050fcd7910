import type { ConsolePlace } from '../../../contract.js'
import { useData } from '../../data/use-data.js'
import { setQuery } from '../../router.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { FilterInput, FilterSelect, RangeSelect, useSince } from '../../ui/filters.js'
import { Card, Facts, Page } from '../../ui/layout.js'
import { Pages } from '../../ui/pages.js'
import { Empty, Loaded } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { FullTime, Time } from '../../ui/time.js'
import { Integrity } from './integrity.js'
import type { Entry, EntryPage } from './types.js'

const perPage = 50
const outcomes = ['asked', 'done', 'failed', 'completed', 'ended', 'noted', 'intact', 'broken']
const fields = ['action', 'target', 'actor', 'outcome'] as const

/** The audit log, newest first. */
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
            <Pages of="the audit log" perPage={perPage} pagination={pagination} />
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

/** The details of one entry. Digests are equal for equal states and reveal nothing else. */
function Selected({ entry }: { readonly entry: Entry | undefined }) {
  if (entry === undefined) return null
  const { action, actor, address, after, at, before, device, hash, id, outcome, reason, ref, requestId, target, via } = entry
  const texts: readonly (readonly [name: string, text: string | number | null])[] = [
    ['Actor', `${actor}, via ${via}`],
    ['Target', target],
    ['Outcome', outcome],
    ['Reason', reason],
    ['Address', address],
    ['Device', device],
    ['Request', requestId],
    ['Refers to entry', ref],
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

const inputs = [
  ['action', 'Action', 'Action, such as worker.stop'],
  ['target', 'Target', 'Target, such as worker:email-sender'],
  ['actor', 'Actor', 'Actor, such as user:42'],
] as const

function Filters({ of }: { readonly of: (name: string) => string }) {
  return (
    <div class="filters">
      {inputs.map(([name, label, placeholder]) => (
        <FilterInput key={name} name={name} label={label} placeholder={placeholder} value={of(name)} maxLength={250} />
      ))}
      <FilterSelect
        name="outcome"
        label="Outcome"
        value={of('outcome')}
        any="Any outcome"
        options={outcomes.map((one) => [one, one] as const)}
      />
      <RangeSelect value={of('range')} />
    </div>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  if (!filtered) return <Empty title="No entries yet">Operator actions and the outcomes of jobs appear here.</Empty>
  return (
    <Empty title="No matching entries">
      <button
        type="button"
        class="button"
        onClick={() => setQuery({ action: '', target: '', actor: '', outcome: '', range: '', page: '' })}
      >
        Clear filters
      </button>
    </Empty>
  )
}
