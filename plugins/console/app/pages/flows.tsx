import { useState } from 'preact/hooks'
import type { JobDetails, JobFlow } from 'zin/plugins/queue-monitor'
import type { ConsoleModule, ConsolePlace } from '../../contract.js'
import { request } from '../data/api.js'
import { messageOf } from '../data/message.js'
import { useData } from '../data/use-data.js'
import { plural } from '../format.js'
import { path, setQuery } from '../router.js'
import { Badge, type Tone } from '../ui/badge.js'
import { Card, Page } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Empty, Loaded } from '../ui/states.js'
import { Time } from '../ui/time.js'
import { toast } from '../ui/toast.js'
import { FlowTree } from './flow-tree.js'

export const flowPages: ConsoleModule = () => ({
  pages: [{ path: '/flows', title: 'Flows', nav: { icon: 'flow', order: 50, key: 'f' }, view: Flows }],
})

interface Family {
  readonly parent: string
  readonly children: readonly JobDetails[]
}

const states = ['active', 'waiting', 'delayed', 'failed', 'completed'] as const
/** Jobs per state that are checked for a parent. */
const checked = 100

/** The flow of a given job, or the flows found among the first jobs of each state. */
function Flows(place: ConsolePlace) {
  const of = place.query.get('of') ?? ''
  const [text, setText] = useState(of)
  return (
    <Page title="Flows">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({ of: text.trim() })
        }}
      >
        <input
          class="input"
          type="search"
          aria-label="Any job of the flow"
          placeholder="Any job of the flow, as queue:id"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          Show
        </button>
      </form>
      {of === '' ? <RecentFlows /> : <OneFlow of={of} />}
    </Page>
  )
}

function OneFlow({ of }: { readonly of: string }) {
  const flow = useData<JobFlow>(path`/api/jobs/${of}/flow`)
  return (
    <Card flush>
      <Loaded from={flow}>{({ id, queue, root }) => <FlowTree root={root} current={{ id, queue }} />}</Loaded>
    </Card>
  )
}

function RecentFlows() {
  const active = useData<{ jobs: readonly JobDetails[] }>(`/api/jobs/active?limit=${checked}`)
  const [more, setMore] = useState<readonly JobDetails[] | undefined>(undefined)
  const jobs = [...(active.data?.jobs ?? []), ...(more ?? [])]
  const families = familiesOf(jobs)
  const readMore = async (): Promise<void> => {
    const lists = await Promise.all(
      states.slice(1).map((state) => request<{ jobs: readonly JobDetails[] }>('GET', `/api/jobs/${state}?limit=${checked}`)),
    )
    setMore(lists.flatMap((list) => list.jobs))
  }
  if (active.data !== undefined && more === undefined) {
    setMore([])
    readMore().catch((error: unknown) => toast('bad', messageOf(error)))
  }
  return (
    <Loaded from={active}>
      {() =>
        families.length === 0 ? (
          <Card flush>
            <Empty title="No flows among the jobs checked">
              A flow is a job that waits for other jobs. Only the first {checked} jobs of each state were checked, queue by queue. To see
              another flow, enter one of its jobs above.
            </Empty>
          </Card>
        ) : (
          <>
            <p class="note">Flows with a child among the first {checked} jobs of each state, queue by queue</p>
            <Card flush>
              <ul class="needs flows">
                {families.map(({ children, parent }) => (
                  <li key={parent}>
                    <span class="needs-text">
                      <Link to={`/flows?of=${encodeURIComponent(parent)}`}>{parent}</Link> with {plural(children.length, 'child job')}
                    </span>
                    <Summary jobs={children} />
                    <span class="dim">
                      <Time at={children[0]?.createdAt} />
                    </span>
                  </li>
                ))}
              </ul>
            </Card>
          </>
        )
      }
    </Loaded>
  )
}

const tones: Readonly<Record<string, Tone>> = { failed: 'bad', processing: 'info', completed: 'ok', waiting: 'neutral' }

function Summary({ jobs }: { readonly jobs: readonly JobDetails[] }) {
  return (
    <>
      {(['failed', 'processing', 'waiting', 'completed'] as const).map((status) => {
        const number = jobs.filter((job) => job.status === status).length
        return (
          number > 0 && (
            <Badge key={status} tone={tones[status] ?? 'neutral'}>
              {number} {status}
            </Badge>
          )
        )
      })}
    </>
  )
}

function familiesOf(jobs: readonly JobDetails[]): readonly Family[] {
  const byParent = new Map<string, JobDetails[]>()
  for (const job of jobs) {
    if (job.parent === null) continue
    const known = byParent.get(job.parent)
    if (known === undefined) byParent.set(job.parent, [job])
    else if (!known.some(({ id, queue }) => id === job.id && queue === job.queue)) known.push(job)
  }
  return [...byParent].map(([parent, children]) => ({ parent, children }))
}
