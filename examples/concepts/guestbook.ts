// A complete plugin that uses every part of the plugin API once. In a project, each part has its own file; `zin make:plugin` generates them.
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import {
  defineCommand,
  defineErrors,
  defineMiddleware,
  defineOptions,
  definePlugin,
  defineRoute,
  defineService,
  defineSettings,
  deny,
  type Gate,
  type HookSpecs,
  type Notify,
  refuse,
  Type,
} from 'zin'
import { databaseService, defineMigration } from 'zin/plugins/database'

/** An entry of the guestbook. */
export interface Entry {
  readonly id: string
  readonly author: string
  readonly text: string
  /** ms since 1970. */
  readonly writtenAt: number
}

// The service: the API for other plugins.
export interface Guestbook {
  /** Writes an entry. Throws 409 GUESTBOOK_ENTRY_REFUSED. */
  write(author: string, text: string): Promise<Entry>
  /** The latest entries, newest first. */
  latest(limit: number): Promise<readonly Entry[]>
}
export const guestbookService = defineService<Guestbook>('guestbook')

// Options come from the factory call in zin.config.ts, settings from the environment.
const guestbookOptions = defineOptions(
  Type.Object({
    pageSize: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Entries per response' }),
    keepDays: Type.Integer({ minimum: 1, default: 365, description: 'Entries older than this many days are deleted' }),
  }),
)
const guestbookSettings = defineSettings({
  GUESTBOOK_KEY: { type: 'string', default: '', secret: true, summary: 'Key that requests must send to write an entry' },
})

const guestbookErrors = defineErrors({
  GUESTBOOK_ENTRY_REFUSED: {
    status: 409,
    message: (reason: string) => `The entry was not written: ${reason}`,
    when: 'A plugin refuses an entry in `beforeEntry`',
    fix: 'Read the reason and change the entry',
  },
  GUESTBOOK_KEY_MISSING: {
    message: () => 'GUESTBOOK_KEY is not set; set it to 16 or more random characters',
    when: 'The app starts in production without `GUESTBOOK_KEY`',
    fix: 'Set it to 16 or more random characters',
  },
})

// Hooks: a gate that can refuse an entry, and a notification of each written entry.
export interface GuestbookHooks {
  beforeEntry: Gate<[author: string, text: string]>
  onEntry: Notify<[entry: Entry]>
}
declare module 'zin' {
  interface HookMap extends GuestbookHooks {}
}
const guestbookHooks = {
  beforeEntry: { kind: 'gate', args: ['author', 'text'], summary: 'An entry is about to be written; deny to refuse it' },
  onEntry: { kind: 'notify', args: ['entry'], summary: 'An entry was written' },
} satisfies HookSpecs<GuestbookHooks>

// The table.
interface Tables {
  guestbook_entries: { id: string; author: string; text: string; written_at: number }
}
const createEntries = defineMigration({
  id: '0001_create_entries',
  up: (db) =>
    db.schema
      .createTable('guestbook_entries')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('author', 'varchar(50)', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addColumn('written_at', 'bigint', (column) => column.notNull())
      .execute(),
  down: (db) => db.schema.dropTable('guestbook_entries').ifExists().execute(),
})

// The schemas of the routes.
const entrySchema = Type.Object({ id: Type.String(), author: Type.String(), text: Type.String(), writtenAt: Type.Integer() })
const newEntrySchema = Type.Object(
  { author: Type.String({ minLength: 1, maxLength: 50 }), text: Type.String({ minLength: 1, maxLength: 1000 }) },
  { additionalProperties: false },
)

/** Compares in a time that does not depend on where the texts differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

// A command that starts only this plugin and the database that it needs.
const listCommand = defineCommand({
  name: 'guestbook:list',
  summary: 'List the latest entries',
  needs: 'services',
  json: true,
  options: { limit: { type: 'int', default: 10, min: 1, max: 100, summary: 'Maximum number of entries' } },
  run: async ({ options, print, service }) => print.table(await service(guestbookService).latest(options.limit)),
})

export const guestbook = definePlugin({
  name: 'guestbook',
  version: '1.0.0',
  author: 'The Zin maintainers',
  description: 'A guestbook that other plugins can moderate',
  uses: { database: databaseService },
  provides: [guestbookService],
  hooks: guestbookHooks,
  options: guestbookOptions,
  settings: guestbookSettings,
  developmentDefaults: { GUESTBOOK_KEY: 'development' },
  errors: guestbookErrors,
  deadlines: { start: 10_000 },

  // Registers the parts; does no I/O.
  setup(ctx) {
    const { clock, hooks, host, log, options, services, settings } = ctx
    const tables = () => services.database.tables<Tables>()
    const beforeEntry = hooks.slot('beforeEntry')
    const onEntry = hooks.slot('onEntry')
    let written = 0

    const service: Guestbook = {
      async write(author, text) {
        const verdict = await beforeEntry.call(author, text)
        if (verdict.denied) throw guestbookErrors.GUESTBOOK_ENTRY_REFUSED(verdict.reason)
        const entry = { id: randomUUID(), author, text, writtenAt: clock.now() }
        await tables().insertInto('guestbook_entries').values({ id: entry.id, author, text, written_at: entry.writtenAt }).execute()
        written += 1
        if (onEntry.active) onEntry.call(entry)
        return entry
      },
      async latest(limit) {
        const rows = await tables().selectFrom('guestbook_entries').selectAll().orderBy('written_at', 'desc').limit(limit).execute()
        return rows.map(({ written_at, ...row }) => ({ ...row, writtenAt: Number(written_at) }))
      },
    }

    ctx.provide(guestbookService, service)
    ctx.migration(createEntries)
    ctx.command(listCommand)
    ctx.middleware(
      defineMiddleware({
        key: 'guestbook-key',
        security: [{ guestbookKey: { type: 'apiKey', in: 'header', name: 'x-guestbook-key' } }],
        handler: (request, next) =>
          settings.GUESTBOOK_KEY !== '' && isSame(request.get('x-guestbook-key'), settings.GUESTBOOK_KEY)
            ? next()
            : refuse(request, 'guestbook-key', 'ApiKey'),
      }),
    )
    ctx.routes([
      defineRoute({
        method: 'GET',
        path: '/guestbook',
        summary: 'List the latest entries',
        response: { 200: Type.Object({ entries: Type.Array(entrySchema) }) },
        handler: async () => ({ entries: await service.latest(options.pageSize) }),
      }),
      defineRoute({
        method: 'POST',
        path: '/guestbook',
        summary: 'Write an entry',
        use: ['guestbook-key'],
        body: newEntrySchema,
        response: { 201: entrySchema },
        handler: async (request) => {
          request.status = 201
          return service.write(request.input.body.author, request.input.body.text)
        },
      }),
    ])
    hooks.on('beforeEntry', (_author, text) => (/https?:/.test(text) ? deny('links are not allowed') : undefined))
    hooks.on('collectMetrics', () => [
      { name: 'guestbook_entries_total', help: 'Entries written by this process', type: 'counter', value: written },
    ])
    ctx.onCheck(() => {
      if (host.app.production && settings.GUESTBOOK_KEY === '') throw guestbookErrors.GUESTBOOK_KEY_MISSING()
    })
    ctx.describe(() => `${written} written`)
    ctx.onStart(() => {
      ctx.every(3_600_000, async () => {
        const oldest = clock.now() - options.keepDays * 86_400_000
        await tables().deleteFrom('guestbook_entries').where('written_at', '<', oldest).execute()
      })
    })
    ctx.onStop(() => log.info({ written }, 'the guestbook is closed'))
  },

  // The database is connected and the migration has run.
  start: async ({ log, services }) => {
    const [latest] = await services.database.tables<Tables>().selectFrom('guestbook_entries').select('id').limit(1).execute()
    log.info(latest === undefined ? 'the guestbook is empty' : 'the guestbook has entries')
  },
})
