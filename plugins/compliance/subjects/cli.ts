import { setTimeout as wait } from 'node:timers/promises'
import { type Command, defineCommand } from 'zin'
import type { ShownErasure } from './awaited.js'
import type { SubjectExport } from './export.js'

const subjectArgument = { name: 'subject', summary: 'The id of the subject as it appears in the job data', required: true } as const
const pathOf = (subject: string): string => `/api/compliance/subjects/${encodeURIComponent(subject)}`

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Commands that query the running app. */
export const subjectCommands: readonly Command[] = [
  defineCommand({
    name: 'gdpr:export',
    summary: 'Show all data that the app stores about a subject',
    args: [subjectArgument],
    needs: 'running app',
    route: 'GET /api/compliance/subjects/:id/export',
    json: true,
    run: async ({ app, args: { subject = '' }, print }) => {
      const found = await app.request<SubjectExport>({ method: 'GET', path: `${pathOf(subject)}/export` })
      if (print.json) return print.record(found)
      const what = `${counted(found.jobs.length, 'job')} and ${counted(found.records.length, 'other record')}`
      print.line(
        found.jobs.length + found.records.length === 0
          ? 'Nothing is stored about this subject'
          : `${what}; use --json to show them in full`,
      )
      for (const { queue, id, state, createdAt } of found.jobs) print.line(`  ${queue} ${id}  ${state}  added ${createdAt}`)
      for (const { plugin, kind, id } of found.records) print.line(`  ${plugin}: ${kind} ${id}`)
      for (const problem of found.problems) print.line(problem)
      if (!found.complete) return 1
    },
  }),
  defineCommand({
    name: 'gdpr:erase',
    summary: 'Erase all data that the app stores about a subject',
    args: [subjectArgument],
    needs: 'running app',
    route: 'DELETE /api/compliance/subjects/:id',
    json: true,
    confirms: true,
    run: async ({ app, args: { subject = '' }, confirm, print, signal }) => {
      await confirm('This erases all jobs of the subject, with their results, errors and logs')
      let { erasure } = await app.request<{ erasure: ShownErasure }>({ method: 'DELETE', path: pathOf(subject) })
      let advice: string | null = null
      while (erasure.state === 'running' || erasure.state === 'waiting') {
        if (!print.json) print.line(`${erasure.erased} erased${erasure.pending > 0 ? `, ${erasure.pending} still running` : ''} …`)
        if (!print.json && erasure.advice !== null && erasure.advice !== advice) print.line(erasure.advice)
        advice = erasure.advice
        await wait(2_000, undefined, { signal })
        erasure = (await app.request<{ erasure: ShownErasure }>({ method: 'GET', path: `/api/compliance/erasures/${erasure.id}` })).erasure
      }
      if (print.json) print.record(erasure)
      else if (erasure.error === null)
        print.line(`Erased ${counted(erasure.erased, 'job')} and ${counted(erasure.elsewhere, 'other record')} (erasure ${erasure.id})`)
      else print.line(`The erasure ${erasure.id} failed: ${erasure.error}`)
      return erasure.state === 'completed' ? 0 : 1
    },
  }),
]
