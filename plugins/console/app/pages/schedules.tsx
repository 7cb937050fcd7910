import { useEffect, useState } from 'preact/hooks'
import type { CatchUp, Overlap } from 'zin/plugins/queues'
import type { ConsoleData, ConsoleModule } from '../../contract.js'
import { ApiError, request } from '../data/api.js'
import { can } from '../data/session.js'
import { duration, plural } from '../format.js'
import { path } from '../router.js'
import { ActionButton } from '../ui/dialog.js'
import { Card, Page } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Empty, Loaded } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Time } from '../ui/time.js'

export const schedulePages: ConsoleModule = () => ({
  pages: [
    {
      path: '/schedules',
      title: 'Schedules',
      nav: { icon: 'clock', order: 40, key: 's' },
      plugin: 'workers',
      may: 'operate',
      view: Schedules,
    },
  ],
})

interface Schedule {
  readonly id: string
  readonly worker: string
  readonly name: string
  readonly pattern?: string
  readonly every?: number
  readonly tz?: string
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly nextAt: string | null
}

/** What a run does that is due while the one before waits or runs. */
const overlapWords: Readonly<Record<Overlap, readonly [short: string, long: string]>> = {
  allow: ['next runs too', 'A run that is due while the one before still waits or runs starts as well'],
  skip: ['next is left out', 'A run that is due while the one before still waits or runs is left out'],
  queue: ['next waits', 'A run that is due while the one before still waits or runs waits for its end'],
}
/** What happens to runs that were missed while nothing was running. */
const catchUpWords: Readonly<Record<CatchUp, readonly [short: string, long: string]>> = {
  none: ['are left out', 'Runs that were missed while nothing was running are left out'],
  one: ['one is made up', 'If runs were missed in the last 24 h while nothing was running, one is made up for all of them'],
  all: ['all are made up', 'Runs that were missed in the last 24 h while nothing was running are all made up, in order'],
}

interface Found {
  readonly schedules: readonly Schedule[]
  readonly workers: number
  readonly asked: number
}

/** Limit on workers whose schedules are read, and how many are read concurrently. */
const mostWorkers = 200
const atOnce = 8

/** Reads the schedules of all workers, with one request per worker. */
function useSchedules(): ConsoleData<Found> {
  const [state, set] = useState<Omit<ConsoleData<Found>, 'reload'>>({ data: undefined, error: undefined, loading: true, at: undefined })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const read = async (): Promise<void> => {
      const names: string[] = []
      let total = 0
      for (let page = 1; names.length < mostWorkers; page++) {
        const url = `/api/workers?limit=100&page=${page}`
        const { pagination, workers } = await request<{
          workers: readonly { name: string }[]
          pagination: { total: number; totalPages: number }
        }>('GET', url, undefined, abort.signal)
        total = pagination.total
        names.push(...workers.map(({ name }) => name))
        if (page >= pagination.totalPages) break
      }
      const asked = names.slice(0, mostWorkers)
      const schedules: Schedule[] = []
      for (let from = 0; from < asked.length; from += atOnce) {
        const some = asked.slice(from, from + atOnce)
        const lists = await Promise.all(
          some.map((name) =>
            request<{ schedules: readonly Schedule[] }>('GET', path`/api/workers/${name}/schedules`, undefined, abort.signal),
          ),
        )
        schedules.push(...lists.flatMap((list) => list.schedules))
      }
      set({ data: { schedules, workers: total, asked: asked.length }, error: undefined, loading: false, at: Date.now() })
    }
    read().catch((error: unknown) => {
      if (abort.signal.aborted) return
      const known = error instanceof ApiError ? error : new ApiError(0, 'UNREADABLE', String(error))
      set((before) => ({ ...before, error: known, loading: false }))
    })
    return () => abort.abort()
  }, [turn])
  return { ...state, reload: () => setTurn((number) => number + 1) }
}

function Schedules() {
  const found = useSchedules()
  const columns: readonly Column<Schedule>[] = [
    { key: 'id', title: 'Schedule', cell: ({ id }) => <span title={id}>{id}</span>, sort: ({ id }) => id },
    {
      key: 'worker',
      title: 'Worker',
      hideOn: 'phone',
      cell: ({ worker }) => (
        <Link to={path`/workers/${worker}`} title={worker}>
          {worker}
        </Link>
      ),
      sort: ({ worker }) => worker,
      width: '17%',
    },
    {
      key: 'name',
      title: 'Job name',
      hideOn: 'tablet',
      cell: ({ name }) => <span title={name}>{name}</span>,
      sort: ({ name }) => name,
      width: '14%',
    },
    {
      key: 'timing',
      title: 'When',
      cell: ({ every, pattern, tz }) =>
        every === undefined ? (
          <>
            <span class="mono">{pattern}</span> <span class="dim hide-phone">{tz ?? 'UTC'}</span>
          </>
        ) : (
          `every ${duration(every)}`
        ),
    },
    {
      key: 'overlap',
      title: 'While one runs',
      hideOn: 'phone',
      cell: ({ overlap }) => <Words of={overlapWords[overlap]} />,
      sort: ({ overlap }) => overlap,
      width: '14%',
    },
    {
      key: 'catchUp',
      title: 'Missed runs',
      hideOn: 'phone',
      cell: ({ catchUp }) => <Words of={catchUpWords[catchUp]} />,
      sort: ({ catchUp }) => catchUp,
      width: '13%',
    },
    {
      key: 'next',
      title: 'Next',
      numeric: true,
      cell: ({ nextAt }) => (nextAt === null ? <span class="dim">ended</span> : <Time at={nextAt} />),
      sort: ({ nextAt }) => (nextAt === null ? Number.MAX_SAFE_INTEGER : Date.parse(nextAt)),
    },
    ...(can('operate')
      ? [
          {
            key: 'remove',
            title: 'Action',
            numeric: true,
            width: '88px',
            cell: ({ id, worker }: Schedule) => (
              <ActionButton
                small
                label="Remove"
                tone="bad"
                confirm={{
                  title: `Remove the schedule ${id}?`,
                  text: `It adds no further jobs for ${worker}. Jobs it has already added stay.`,
                }}
                run={async () => {
                  await request('DELETE', path`/api/workers/${worker}/schedules/${id}`)
                  found.reload()
                  return `Removed the schedule ${id}`
                }}
              />
            ),
          },
        ]
      : []),
  ]
  return (
    <Page
      title="Schedules"
      actions={
        <button type="button" class="button" onClick={found.reload}>
          Refresh
        </button>
      }
    >
      <Loaded from={found}>
        {({ asked, schedules, workers }) => (
          <>
            {asked < workers && (
              <p class="note">
                Showing the schedules of the first {asked} of {plural(workers, 'worker')}
              </p>
            )}
            <Card flush>
              <Table
                label="Schedules"
                columns={columns}
                rows={schedules}
                rowKey={({ id, worker }) => `${worker} ${id}`}
                sort={{ key: 'next', down: false }}
                empty={
                  <Empty title="No schedules">
                    Create one with <span class="mono">PUT /api/workers/:name/schedules/:id</span>.
                  </Empty>
                }
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Words({ of: [short, long] }: { readonly of: readonly [short: string, long: string] }) {
  return <span title={long}>{short}</span>
}
