import { type Command, type CommandContext, defineCommand, durationText, messageOf, systemClock, ZinError } from 'zin'
import { attentionService } from '../contract.js'
import { type AttentionItem, type AttentionList, byReason } from './item.js'

/** The app did not answer at its own address: a process may run without the role http. */
const silent: ReadonlySet<string> = new Set(['ZIN_APP_UNREACHABLE', 'ZIN_APP_TIMEOUT'])

const status = defineCommand({
  name: 'status',
  summary: 'Show what needs attention; exits with 1 if something does, or could not be checked',
  needs: 'running app',
  route: 'GET /api/attention',
  json: true,
  run: async (context) => {
    const { print } = context
    const list = await read(context)
    const { items, notChecked } = list
    const open = items.filter(({ acknowledged }) => acknowledged === undefined)
    if (print.json) print.record({ ok: true, ...list })
    else {
      for (const item of open) show(item, context)
      for (const item of items) if (item.acknowledged !== undefined) show(item, context)
      for (const [reason, kinds] of byReason(notChecked)) print.line(`not checked: ${kinds.join(', ')}: ${reason}`)
      if (items.length === 0 && notChecked.length === 0) print.line('Nothing needs attention')
    }
    return open.length > 0 || notChecked.length > 0 ? 1 : 0
  },
})

/** Reads the list from the app, or from its stores if no process answers. */
async function read({ app, options, print, service, startServices }: CommandContext): Promise<AttentionList> {
  try {
    const { at, items, notChecked } = await app.request<AttentionList>({ method: 'GET', path: '/api/attention' })
    return { at, items, notChecked }
  } catch (error) {
    const { host, port, url } = options as Readonly<Record<string, unknown>>
    const isOwn = [host, port, url].every((one) => one === undefined)
    if (!isOwn || !(error instanceof ZinError) || !silent.has(error.code)) throw error
    if (!print.json) print.line(`No process answers on ${app.baseUrl}; reading the stores of the app\n`)
    try {
      await startServices()
      return await service(attentionService).list()
    } catch (reason) {
      const why = `No process answers on ${app.baseUrl}, and the stores could not be opened: ${messageOf(reason)}`
      return { at: new Date(systemClock.now()).toISOString(), items: [], notChecked: [{ kind: 'app', reason: why }] }
    }
  }
}

function show(
  { acknowledged, act, cause, id, kind, severity, since, subject }: AttentionItem,
  { print }: Pick<CommandContext, 'print'>,
): void {
  const age = durationText(systemClock.now() - Date.parse(since))
  const mark = acknowledged !== undefined ? 'acknowledged' : severity === 'bad' ? 'FAILING' : 'warning'
  print.line(`${mark}  ${subject}  ${kind}, for ${age}`)
  print.line(`  ${cause}`)
  if (acknowledged !== undefined) print.line(`  by ${acknowledged.by.kind} ${acknowledged.by.id}: ${acknowledged.note}`)
  print.line(`  ${act.label}: ${act.href}  (${id})\n`)
}

const acknowledge = defineCommand({
  name: 'status:acknowledge',
  summary: 'Acknowledge what needs attention, with a note, until its cause has gone',
  args: [
    { name: 'id', summary: 'Id of the item, see status' },
    { name: 'note', summary: 'Why no more is to be done now' },
  ],
  needs: 'running app',
  route: 'POST /api/attention/:id/acknowledge',
  json: true,
  run: async ({ app, args: { id = '', note = '' }, print }) => {
    const path = `/api/attention/${encodeURIComponent(id)}/acknowledge`
    const { item } = await app.request<{ readonly item: AttentionItem }>({ method: 'POST', path, body: { note } })
    if (print.json) print.record(item)
    else print.line(`${item.subject} (${item.kind}) is acknowledged until its cause has gone`)
  },
})

export const attentionCommands: readonly Command[] = [status, acknowledge]
