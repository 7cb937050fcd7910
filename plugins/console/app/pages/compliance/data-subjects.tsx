import { useState } from 'preact/hooks'
import type { ConsolePlace } from '../../../contract.js'
import { ApiError, request, saveFile } from '../../data/api.js'
import { messageOf } from '../../data/message.js'
import { can } from '../../data/session.js'
import { plural } from '../../format.js'
import { path, setQuery } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { ask } from '../../ui/dialog.js'
import { Card, Page } from '../../ui/layout.js'
import { Empty, Problem } from '../../ui/states.js'
import { type Column, Table } from '../../ui/table.js'
import { Time } from '../../ui/time.js'
import { ErasureProgress } from './erasure-progress.js'
import type { Erasure, Found, FoundJob } from './types.js'

/** How long the erase request waits for completion, in ms. */
const waitMs = 1_000

/** The data the app stores about a person. Their id is kept out of the URL, because URLs stay in the browser history. */
export function DataSubjects({ query }: ConsolePlace) {
  const [state, set] = useState<{ readonly found?: Found; readonly error?: ApiError; readonly busy?: boolean }>({})
  const find = async (subject: string): Promise<void> => {
    set({ busy: true })
    try {
      set({ found: await request<Found>('GET', path`/api/compliance/subjects/${subject}/export`) })
    } catch (error) {
      set({ error: error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', messageOf(error)) })
    }
  }
  const { busy = false, error, found } = state
  const erasure = query.get('erasure')
  return (
    <Page title="Data subjects">
      {erasure !== null && <ErasureProgress key={erasure} id={erasure} />}
      <Lookup busy={busy} find={(subject) => void find(subject)} />
      {error !== undefined && (
        <Card>
          <Problem error={error} retry={() => set({})} />
        </Card>
      )}
      {found !== undefined && <Kept found={found} done={() => set({})} />}
    </Page>
  )
}

function Lookup({ busy, find }: { readonly busy: boolean; readonly find: (subject: string) => void }) {
  const [subject, setSubject] = useState('')
  return (
    <Card title="Look up">
      <form
        class="filters lookup"
        onSubmit={(event) => {
          event.preventDefault()
          if (subject.trim() !== '') find(subject.trim())
        }}
      >
        <label class="grow">
          <span class="visually-hidden">Subject id</span>
          <input
            class="input"
            value={subject}
            maxLength={200}
            autocomplete="off"
            spellcheck={false}
            placeholder="Subject id, as used in job data"
            onInput={(event) => setSubject(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button primary" disabled={busy || subject.trim() === ''}>
          {busy ? 'Looking up…' : 'Look up'}
        </button>
      </form>
      <p class="dim">Each lookup is an export and is recorded in the audit log.</p>
    </Card>
  )
}

const columns: readonly Column<FoundJob>[] = [
  { key: 'id', title: 'Job', cell: ({ id }) => <span class="mono">{id}</span>, sort: ({ id }) => id },
  { key: 'queue', title: 'Queue', cell: ({ queue }) => queue, sort: ({ queue }) => queue },
  { key: 'name', title: 'Name', hideOn: 'phone', cell: ({ name }) => name, sort: ({ name }) => name },
  { key: 'state', title: 'State', width: '110px', cell: ({ state }) => state, sort: ({ state }) => state },
  { key: 'created', title: 'Added', width: '120px', cell: ({ createdAt }) => <Time at={createdAt} />, sort: ({ createdAt }) => createdAt },
]

function Kept({ done, found }: { readonly found: Found; readonly done: () => void }) {
  const { complete, jobs, problems, records, subject } = found
  const isNothing = jobs.length === 0 && records.length === 0
  const erase = async (): Promise<undefined> => {
    const { erasure } = await request<{ erasure: Erasure }>('DELETE', `${path`/api/compliance/subjects/${subject}`}?wait=${waitMs}`)
    done()
    setQuery({ erasure: erasure.id })
  }
  const actions = !isNothing && (
    <div class="page-actions">
      <button
        type="button"
        class="button"
        onClick={() => saveFile(new Blob([JSON.stringify(found, null, 2)], { type: 'application/json' }), 'subject-export.json')}
      >
        Download
      </button>
      {can('operate') && (
        <button
          type="button"
          class="button danger-quiet"
          onClick={() =>
            ask({
              title: `Erase ${subject}?`,
              text: `${plural(jobs.length, 'job')} with their results, errors and logs, and ${plural(records.length, 'other record')} are permanently removed. Running jobs are erased when they end.`,
              typed: subject,
              verb: 'Erase',
              tone: 'bad',
              run: erase,
            })
          }
        >
          Erase…
        </button>
      )}
    </div>
  )
  return (
    <Card
      title={`${plural(jobs.length, 'job')} and ${plural(records.length, 'other record')}`}
      aside={actions}
      flush={!isNothing && complete}
    >
      {!complete && (
        <p role="alert">
          <Badge tone="warn">incomplete</Badge> {problems.join('; ')}
        </p>
      )}
      {isNothing && <Empty title="No data about this subject">Check the id: it must be the one used in job data.</Empty>}
      {jobs.length > 0 && (
        <Table
          label="Jobs of the subject"
          rows={jobs}
          columns={columns}
          rowKey={({ id, queue }) => `${queue}:${id}`}
          href={({ id, queue }) => path`/queues/${queue}/jobs/${id}`}
        />
      )}
      {records.length > 0 && (
        <ul class="records">
          {records.map(({ id, kind, plugin }) => (
            <li key={`${plugin} ${kind} ${id}`}>
              {plugin}: {kind} <span class="mono">{id}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
