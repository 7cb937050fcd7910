import type { JobDetails } from 'zin/plugins/queue-monitor'
import { request } from '../data/api.js'
import { path, router } from '../router.js'
import { ask } from '../ui/dialog.js'

/** Adds a job like this one, after its data were looked at and changed. */
export function JobEditor({ job }: { readonly job: JobDetails }) {
  const edit = (): void => {
    let text = JSON.stringify(job.payload, null, 2)
    const redacted = text.includes('"[redacted]"')
    ask({
      title: `Run ${job.name} again as a new job`,
      text: redacted
        ? 'Redacted values would be sent as the text “[redacted]”: fill them in, or remove them.'
        : 'A new job with these data is added to the same queue. This one stays as it is.',
      verb: 'Add the job',
      fields: (
        <label class="field">
          <span>Data, as JSON</span>
          <textarea class="input mono" spellcheck={false} defaultValue={text} onInput={(event) => (text = event.currentTarget.value)} />
        </label>
      ),
      run: async () => {
        const body = { name: job.name, data: JSON.parse(text) as unknown, options: { attempts: job.maxAttempts } }
        const { id } = await request<{ id: string }>('POST', path`/api/queue/${job.queue}/jobs`, body)
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
