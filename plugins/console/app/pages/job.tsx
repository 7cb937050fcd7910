import type { JobAttempts as Attempts, JobDetails, JobFlow } from 'zin/plugins/queue-monitor'
import type { ConsolePlace } from '../../contract.js'
import { download, request } from '../data/api.js'
import { messageOf } from '../data/message.js'
import { can, refreshInterval, session } from '../data/session.js'
import { useData } from '../data/use-data.js'
import { bytes, plural } from '../format.js'
import { path, router, setQuery } from '../router.js'
import { Badge, type Tone } from '../ui/badge.js'
import { ActionButton } from '../ui/dialog.js'
import { Icon } from '../ui/icon.js'
import { copyText, JsonView } from '../ui/json.js'
import { Card, Facts, Page, TabPanel, Tabs } from '../ui/layout.js'
import { Link } from '../ui/link.js'
import { Panels } from '../ui/panels.js'
import { StackView } from '../ui/stack.js'
import { Empty, Loaded } from '../ui/states.js'
import { Duration, FullTime } from '../ui/time.js'
import { toast } from '../ui/toast.js'
import { FlowTree } from './flow-tree.js'
import { verbsOf } from './job-actions.js'
import { JobAttempts } from './job-attempts.js'
import { JobEditor } from './job-editor.js'
import { JobTimeline } from './job-timeline.js'
import { undo } from './operations.js'

const tones: Readonly<Record<string, Tone>> = { failed: 'bad', active: 'info', completed: 'ok' }

const tabs = [
  { id: 'data', title: 'Data' },
  { id: 'error', title: 'Error' },
  { id: 'attempts', title: 'Attempts' },
  { id: 'logs', title: 'Logs' },
  { id: 'flow', title: 'Flow' },
  { id: 'raw', title: 'Raw' },
] as const

/** The page of a job: its data, attempts, error, logs, flow and actions. */
export function Job(place: ConsolePlace) {
  const { id = '', name: queue = '' } = place.params
  const include = session.value?.may.payload === true ? '&include=payload' : ''
  const url = path`/api/jobs/${id}`
  const job = useData<JobDetails>(`${url}?queue=${encodeURIComponent(queue)}${include}`, { refresh: refreshInterval() })
  const { data } = job
  return (
    <Page
      title={data === undefined ? id : data.name}
      parent={{ title: queue, to: path`/queues/${queue}` }}
      badge={data !== undefined && <Badge tone={tones[data.state] ?? 'neutral'}>{data.state}</Badge>}
      actions={data !== undefined && <Actions job={data} done={job.reload} />}
    >
      <Loaded from={job}>{(details) => <Details job={details} place={place} />}</Loaded>
    </Page>
  )
}

function Details({ job, place }: { readonly job: JobDetails; readonly place: ConsolePlace }) {
  const attempts = useData<Attempts>(
    `${path`/api/jobs/${job.id}/attempts`}?queue=${encodeURIComponent(job.queue)}`,
    job.state === 'active' ? { refresh: refreshInterval() } : {},
  )
  const wanted = place.query.get('tab')
  const hasError = (job.stacktrace?.length ?? 0) > 0 || job.error !== null
  const shown = tabs.filter(({ id }) => id !== 'error' || hasError)
  const tab = shown.find(({ id }) => id === wanted)?.id ?? (job.error === null ? 'data' : 'error')
  return (
    <>
      {job.error !== null && (
        <p class="error-line">
          <Icon name="bad" />
          <span>
            {job.status !== 'failed' && `Attempt ${job.attempts} of ${job.maxAttempts} failed: `}
            {job.error}
          </span>
        </p>
      )}
      {job.withheld && (
        <p class="error-line">
          <Icon name="bad" />
          <span>Its error and progress are hidden: your credentials do not have the permission payload:read.</span>
        </p>
      )}
      <Card>
        <JobTimeline job={job} attempts={attempts.data?.attempts ?? []} />
        <Facts
          of={[
            ['Job', <span class="mono">{job.id}</span>],
            ['Queue', <Link to={path`/queues/${job.queue}`}>{job.queue}</Link>],
            ['Attempts', `${job.attempts} of ${job.maxAttempts}${job.stalls > 0 ? `, ${job.stalls} lost` : ''}`],
            ['Ran for', <Duration ms={job.processingTime} />],
            ['Added', <FullTime at={job.createdAt} />],
            ['Ended', <FullTime at={job.completedAt ?? job.failedAt} />],
            ...(job.readyAt === null ? [] : [['Ready', <FullTime at={job.readyAt} />] as const]),
            ['Priority', job.priority === null ? 'none' : String(job.priority)],
            ...(job.parent === null ? [] : [['Parent', <Parent of={job.parent} />] as const]),
          ]}
        />
      </Card>
      <Tabs label="Parts of the job" tabs={shown} current={tab} choose={(id) => setQuery({ tab: id })} />
      <TabPanel of={tab}>
        {tab === 'data' && <Data job={job} />}
        {tab === 'error' && <Errors job={job} />}
        {tab === 'attempts' && <JobAttempts from={attempts} />}
        {tab === 'logs' && <Logs job={job} />}
        {tab === 'flow' && <Flow job={job} />}
        {tab === 'raw' && (
          <Card>
            <pre>{JSON.stringify(job, null, 2)}</pre>
          </Card>
        )}
      </TabPanel>
      <Panels on="job" place={place} />
    </>
  )
}

function Parent({ of }: { readonly of: string }) {
  const colon = of.indexOf(':')
  const [queue, id] = [of.slice(0, colon), of.slice(colon + 1)]
  return <Link to={path`/queues/${queue}/jobs/${id}`}>{of}</Link>
}

function Data({ job }: { readonly job: JobDetails }) {
  if (session.value?.may.payload !== true) {
    return (
      <Card>
        <Empty title="Data hidden">Your credentials do not have the permission payload:read.</Empty>
      </Card>
    )
  }
  const url = `${path`/api/jobs/${job.id}/payload`}?queue=${encodeURIComponent(job.queue)}`
  return (
    <Card
      title={job.payloadTruncated ? `The first 64 KiB of ${bytes(job.payloadBytes ?? 0)}` : 'Data'}
      aside={
        <span class="page-actions">
          <button type="button" class="button small" onClick={() => void copyText(JSON.stringify(job.payload, null, 2))}>
            Copy
          </button>
          <button
            type="button"
            class="button small"
            onClick={() => download(url, `${job.queue}-${job.id}.json`).catch((error: unknown) => toast('bad', messageOf(error)))}
          >
            Download
          </button>
        </span>
      }
    >
      {job.payloadTruncated ? <pre class="mono">{String(job.payload)}</pre> : <JsonView value={job.payload} />}
    </Card>
  )
}

/** Limit on earlier errors that are listed. */
const mostStacks = 10

function Errors({ job }: { readonly job: JobDetails }) {
  const stacks = job.stacktrace ?? []
  // The store keeps only the newest stack traces.
  const failures = Math.max(stacks.length, job.attempts - (job.status === 'completed' ? 1 : 0))
  const earlier = stacks.map((stack, index) => ({ attempt: failures - stacks.length + index + 1, stack })).slice(0, -1)
  const shown = earlier.slice(-mostStacks).toReversed()
  const older = failures - 1 - shown.length
  const [line = ''] = (job.error ?? '').split('\n')
  return (
    <Card
      title={stacks.length > 1 ? `Latest of ${failures} errors` : 'Error'}
      aside={
        line !== '' && (
          <Link
            class="link"
            to={`${path`/queues/${job.queue}`}?state=failed&q=${encodeURIComponent(`error:${line.split(/\s+/)[0] ?? ''}`)}`}
          >
            Jobs with similar errors
          </Link>
        )
      }
    >
      {stacks.length === 0 ? (
        <p>{job.error}</p>
      ) : (
        <>
          <StackView text={stacks.at(-1) ?? ''} />
          {shown.map(({ attempt, stack }) => (
            <details key={attempt}>
              <summary>Attempt {attempt}</summary>
              <StackView text={stack} />
            </details>
          ))}
          {older > 0 && <p class="dim">{plural(older, 'earlier error')} not shown</p>}
        </>
      )}
    </Card>
  )
}

function Logs({ job }: { readonly job: JobDetails }) {
  const url = `${path`/api/jobs/${job.id}/logs`}?queue=${encodeURIComponent(job.queue)}&offset=-500`
  const logs = useData<{ logs: readonly string[]; count: number; dropped: number }>(
    url,
    job.state === 'active' ? { refresh: refreshInterval() } : {},
  )
  return (
    <Card>
      <Loaded from={logs}>
        {({ count, dropped, logs: lines }) =>
          lines.length === 0 ? (
            <Empty title="No log lines">A processor writes log lines with job.log().</Empty>
          ) : (
            <>
              {count + dropped > lines.length && (
                <p class="dim">
                  Showing the last {plural(lines.length, 'line')} of {count + dropped}
                  {dropped > 0 && `, of which the first ${dropped} were dropped`}
                </p>
              )}
              <pre class="mono">{lines.join('\n')}</pre>
            </>
          )
        }
      </Loaded>
    </Card>
  )
}

function Flow({ job }: { readonly job: JobDetails }) {
  const flow = useData<JobFlow>(`${path`/api/jobs/${job.id}/flow`}?queue=${encodeURIComponent(job.queue)}`)
  return (
    <Card flush>
      <Loaded from={flow}>
        {({ root }) =>
          root.children.length === 0 && root.id === job.id ? (
            <Empty title="This job is not part of a flow">It has no parent and no children.</Empty>
          ) : (
            <FlowTree root={root} current={{ id: job.id, queue: job.queue }} />
          )
        }
      </Loaded>
    </Card>
  )
}

function Actions({ done, job }: { readonly job: JobDetails; readonly done: () => void }) {
  if (!can('write')) return null
  const suffix = `?queue=${encodeURIComponent(job.queue)}`
  return (
    <>
      {verbsOf(job.state).map(({ method, past, title, verb }) => (
        <ActionButton
          key={verb}
          label={title}
          tone={verb === 'delete' || verb === 'cancel' ? 'bad' : undefined}
          confirm={
            verb === 'delete'
              ? { title: `Delete job ${job.id}?`, text: 'It is deleted with its data and log. This can be undone for ten minutes.' }
              : verb === 'cancel'
                ? {
                    title: `Cancel job ${job.id}?`,
                    text: job.state === 'active' ? 'It is aborted on the node that runs it.' : 'It is removed and will not run.',
                  }
                : undefined
          }
          run={async () => {
            const url = `${path`/api/jobs/${job.id}`}${method === 'DELETE' ? '' : `/${verb}`}${suffix}`
            const { operation } = await request<{ operation?: string | null }>(method, url)
            if (verb === 'delete') router.go(path`/queues/${job.queue}`)
            else done()
            const said = `Job ${job.id} ${past}`
            if (typeof operation !== 'string') return said
            toast('ok', said, () => void undo([operation], () => router.go(path`/queues/${job.queue}/jobs/${job.id}`)))
            return undefined
          }}
        />
      ))}
      {session.value?.may.payload === true && !job.payloadTruncated && <JobEditor job={job} />}
      <button type="button" class="button" onClick={() => void copyText(curlOf(`${path`/api/jobs/${job.id}`}${suffix}`))}>
        Copy as curl
      </button>
    </>
  )
}

/** Returns a shell command. Encoding leaves single quotes in an id, which would end the quoted URL. */
function curlOf(address: string): string {
  return `curl '${location.origin}${address.replaceAll("'", '%27')}'`
}
