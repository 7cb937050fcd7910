import { useRef } from 'preact/hooks'
import type { ListedStatus, QueueEntry } from 'zin/plugins/queue-monitor'
import type { ConsolePlace } from '../../contract.js'
import { request } from '../data/api.js'
import { can } from '../data/session.js'
import { useStats } from '../data/stats.js'
import { duration, percent, plural, rate } from '../format.js'
import { path, setQuery } from '../router.js'
import { Badge } from '../ui/badge.js'
import { ActionButton } from '../ui/dialog.js'
import { Page, Stat, TabPanel, Tabs } from '../ui/layout.js'
import { Panels } from '../ui/panels.js'
import { Empty, Loaded } from '../ui/states.js'
import { Count } from '../ui/time.js'
import { QueueHistory } from './queue-history.js'
import { QueueJobs } from './queue-jobs.js'

const tabs = [
  { id: 'failed', title: 'Failed' },
  { id: 'waiting', title: 'Waiting' },
  { id: 'active', title: 'Active' },
  { id: 'delayed', title: 'Delayed' },
  { id: 'completed', title: 'Completed' },
  { id: 'history', title: 'History' },
] as const

/** The page of a queue: its statistics, jobs by state, and history. */
export function Queue(place: ConsolePlace) {
  const name = place.params.name ?? ''
  const stats = useStats()
  const entry = stats.data?.queues[name]
  const wanted = place.query.get('state')
  const first = useRef<ListedStatus | undefined>(undefined)
  if (entry !== undefined) first.current ??= firstTab(entry)
  const tab = tabs.find(({ id }) => id === wanted)?.id ?? first.current ?? 'failed'
  return (
    <Page
      title={name}
      parent={{ title: 'Queues', to: '/queues' }}
      badge={entry?.paused === true && <Badge tone="warn">paused</Badge>}
      actions={entry !== undefined && can('write') && <Pause name={name} paused={entry.paused} />}
    >
      <Loaded from={stats}>
        {() =>
          entry === undefined ? (
            <Empty title="Queue not found">It does not exist, has no jobs yet, or you do not have access to it.</Empty>
          ) : (
            <>
              <Numbers name={name} entry={entry} />
              <Tabs
                label="Jobs by state"
                tabs={tabs.map(({ id, title }) => ({
                  id,
                  title,
                  count: id === 'history' ? undefined : <Count value={countOf(entry, id)} />,
                }))}
                current={tab}
                choose={(id) => setQuery({ state: id, q: undefined })}
              />
              <TabPanel of={tab}>
                {tab === 'history' ? (
                  <QueueHistory name={name} place={place} />
                ) : (
                  <QueueJobs key={tab} queue={name} status={tab} count={countOf(entry, tab)} query={place.query.get('q') ?? ''} />
                )}
              </TabPanel>
              <Panels on="queue" place={place} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** The first non-empty tab, starting with failed jobs. Chosen once, so that the page does not change while the user reads. */
function firstTab(entry: QueueEntry): ListedStatus {
  return (['failed', 'active', 'waiting', 'delayed', 'completed'] as const).find((status) => countOf(entry, status) > 0) ?? 'failed'
}

function countOf(entry: QueueEntry, status: ListedStatus): number {
  return entry[status]
}

function Numbers({ entry, name }: { readonly name: string; readonly entry: QueueEntry }) {
  const { attempts, failureRate, oldestWaitingMs, processingTime, throughput } = entry
  const tab = (state: string): string => `${path`/queues/${name}`}?state=${state}`
  return (
    <div class="stats">
      <Stat
        label="Oldest waiting"
        value={oldestWaitingMs === null ? '–' : duration(oldestWaitingMs)}
        hint={`${plural(entry.waiting, 'job')} waiting`}
        href={tab('waiting')}
      />
      <Stat label="Active" value={<Count value={entry.active} />} hint={`${rate(throughput)} completed per second`} href={tab('active')} />
      <Stat
        label="Failed attempts, 1 h"
        value={failureRate === null ? '–' : percent(failureRate)}
        hint={attempts === 0 ? 'no attempts' : `of ${plural(attempts, 'attempt')}`}
        href={tab('failed')}
      />
      <Stat
        label="Run time p95, 1 h"
        value={processingTime === null ? '–' : duration(processingTime.p95)}
        hint={processingTime === null ? 'no attempts' : `median ${duration(processingTime.p50)}, p99 ${duration(processingTime.p99)}`}
        href={tab('history')}
      />
    </div>
  )
}

function Pause({ name, paused }: { readonly name: string; readonly paused: boolean }) {
  const verb = paused ? 'resume' : 'pause'
  return (
    <ActionButton
      key={verb}
      label={paused ? 'Resume' : 'Pause'}
      confirm={
        paused
          ? undefined
          : {
              title: `Pause ${name}?`,
              text: 'Workers take no new jobs from it, on any node, until it is resumed. Running jobs finish, and jobs can still be added.',
            }
      }
      run={async () => {
        await request('POST', path`/api/queue/${name}/${verb}`)
        return paused ? `${name} is resumed` : `${name} is paused`
      }}
    />
  )
}
