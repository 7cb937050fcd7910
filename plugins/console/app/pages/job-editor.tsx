import type { JobDetails } from 'zin/plugins/queue-monitor'
import { request } from '../data/api.js'
import { path, router } from '../router.js'
import { ask } from '../ui/dialog.js'

/** Adds a copy of this job with edited data. */
export function JobEditor({ job }: { readonly job: JobDetails }) {
  const edit = (): void => {
    let text = JSON.stringify(job.payload, null, 2)
    const redacted = text.includes('"[redacted]"')
    ask({
      title: `Run ${job.name} again as a new job`,
      text: redacted
        ? 'A new job with this data is added to the same queue. Values left as “[redacted]” are copied from the original job.'
        : 'A new job with this data is added to the same queue. The original job is not changed.',
      verb: 'Add job',
      fields: (
        <label class="field">
          <span>Data (JSON)</span>
          <textarea class="input mono" spellcheck={false} defaultValue={text} onInput={(event) => (text = event.currentTarget.value)} />
        </label>
      ),
      run: async () => {
        const url = `${path`/api/jobs/${job.id}/duplicate`}?queue=${encodeURIComponent(job.queue)}`
        const { id } = await request<{ id: string }>('POST', url, { data: JSON.parse(text) as unknown })
        router.go(path`/queues/${job.queue}/jobs/${id}`)
        return `Added job ${id}`
      },
    })
  }
  return (
    <button type="button" class="button" onClick={edit}>
      Edit and run…
    </button>
  )
}
