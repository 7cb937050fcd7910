import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type CommandContext, type Printer, parseEnvFile } from 'zin'
import { type FakeClock, fakeClock } from 'zin/testing'
import { keyCommand } from './cli.js'
import { createSharedKeyring } from './shared-keyring.js'

interface Run {
  readonly out: string
  readonly values: Readonly<Record<string, string | undefined>>
  readonly text: string
}

const SECRET = 'BULLETPROOF_SIGNING_SECRET'
const BACKUPS = 'BULLETPROOF_SIGNING_SECRET_BK'

async function inFolder(
  text: string | undefined,
  test: (folder: string, run: (options?: object, env?: Record<string, string>) => Promise<Run>, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-key-'))
  const file = join(folder, '.env')
  if (text !== undefined) await writeFile(file, text)
  const clock = fakeClock(1_000_000)
  const command = keyCommand({ windowMs: 60_000, clock })
  const run = async (options: object = {}, env: Record<string, string> = {}): Promise<Run> => {
    const lines: string[] = []
    const print = {
      json: false,
      line: (line = '') => void lines.push(line),
      error: (line: string) => void lines.push(line),
    } as Partial<Printer> as Printer
    const context = {
      options: { show: false, 'max-backups': 5, ...options },
      print,
      host: { app: { rootDir: folder }, settings: () => Object.keys(env).map((name) => ({ name, source: 'environment' })) },
      env: { ...parseEnvFile(await readFile(file, 'utf8').catch(() => ''), file), ...env },
      args: {},
      cwd: folder,
    }
    await command.run(context as unknown as CommandContext)
    const written = await readFile(file, 'utf8').catch(() => '')
    return { out: lines.join('\n'), values: parseEnvFile(written, file), text: written }
  }
  try {
    await test(folder, run, clock)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const others = '# comment\nAPP_KEY="a b"\n\nMULTI=\'one\ntwo\'\nexport LAST=x # y\n'

describe('zin key:bulletproof', () => {
  it('S20: writes a new secret and moves the current one to the backups, newest first', () =>
    inFolder(`${others}${SECRET}=first\n`, async (_folder, run) => {
      const one = await run()
      assert.deepEqual(JSON.parse(one.values[BACKUPS] ?? ''), ['first'])
      assert.equal(Buffer.from(one.values[SECRET] ?? '', 'base64url').length, 32)
      const two = await run()
      assert.deepEqual(JSON.parse(two.values[BACKUPS] ?? ''), [one.values[SECRET], 'first'])
      assert.deepEqual(createSharedKeyring(two.values).keys(0).length, 3)
    }))

  it('keeps the other lines, and makes the file readable by its owner only', () =>
    inFolder(`${others}${SECRET}=first\n`, async (folder, run) => {
      const { text } = await run()
      assert.ok(text.startsWith(others))
      assert.equal((await stat(join(folder, '.env'))).mode & 0o777, 0o600)
      assert.deepEqual(await readdir(folder), ['.env'])
    }))

  it('works without a file, without a last line break, and with quotes and export', async () => {
    await inFolder(undefined, async (_folder, run) => assert.equal((await run()).values[BACKUPS], '[]'))
    await inFolder('A=1', async (_folder, run) => assert.match((await run()).text, /^A=1\nBULLETPROOF_SIGNING_SECRET='[\w-]{43}'\n/))
    await inFolder(`export ${SECRET}="it's\\"quoted\\"" # why\r\nA=1\r\n`, async (_folder, run) => {
      const { text, values } = await run()
      assert.match(text, /^export BULLETPROOF_SIGNING_SECRET='[\w-]{43}'\r\nA=1\r\n/)
      assert.deepEqual(JSON.parse(values[BACKUPS] ?? ''), ['it\'s"quoted"'])
    })
  })

  it('keeps five backups or as many as requested, without duplicates, and further ones for as long as a request can be valid', () =>
    inFolder(
      `${SECRET}=f\n${BACKUPS}=["e","f",{"secret":"d","notAfter":2000000},{"secret":"gone","notAfter":5},"c","b","a"]\n`,
      async (_folder, run, clock) => {
        const listOf = async (max: number) => JSON.parse((await run({ 'max-backups': max })).values[BACKUPS] ?? '')
        const first = await run()
        const keptAs = (secret: string) => ({ secret, notAfter: 1_120_000 })
        assert.deepEqual(JSON.parse(first.values[BACKUPS] ?? ''), ['f', 'e', { secret: 'd', notAfter: 2_000_000 }, 'c', 'b', keptAs('a')])
        assert.match(first.out, /6 earlier secrets kept\n1 of them beyond --max-backups: valid for 120 s more/)
        // Requests signed with any of them may be in flight, even when no backup is to be kept.
        const second = first.values[SECRET] ?? ''
        assert.deepEqual(await listOf(0), [second, 'f', 'e', 'd', 'c', 'b', 'a'].map(keptAs))
        clock.advance(120_001)
        assert.equal((await listOf(0)).length, 1)
      },
    ))

  it('moves a secret from AUTH_KEY or APP_KEY to the backups, wherever that is set', async () => {
    await inFolder('APP_KEY=master\n', async (_folder, run) => assert.equal((await run()).values[BACKUPS], '["master"]'))
    await inFolder('APP_KEY=master\nAUTH_KEY=auth\n', async (_folder, run) => assert.equal((await run()).values[BACKUPS], '["auth"]'))
    await inFolder('A=1\n', async (_folder, run) => {
      assert.equal((await run({}, { AUTH_KEY: '', APP_KEY: 'exported' })).values[BACKUPS], '["exported"]')
    })
  })

  it('prints a fingerprint but no secret', () =>
    inFolder(`${SECRET}=first-secret\n`, async (_folder, run) => {
      const { out, values } = await run()
      assert.match(out, /fingerprint [0-9a-f]{12}/)
      for (const hidden of ['first-secret', values[SECRET] ?? '']) assert.ok(!out.includes(hidden))
    }))

  it('S20: prints a new secret and writes nothing with --show', () =>
    inFolder(`${SECRET}=first\n`, async (_folder, run) => {
      const { out, text } = await run({ show: true })
      assert.match(out, /^[\w-]{43}$/)
      assert.equal(text, `${SECRET}=first\n`)
    }))

  it('reports when the environment overrides the file', () =>
    inFolder(`${SECRET}=first\n`, async (_folder, run) => {
      const hidden = await run({}, { [SECRET]: 'other' })
      assert.match(hidden.out, /BULLETPROOF_SIGNING_SECRET is also set in the environment/)
      assert.doesNotMatch(hidden.out, /within two seconds|are accepted/)
      const backups = await run({}, { [BACKUPS]: '["other"]' })
      assert.match(backups.out, /BULLETPROOF_SIGNING_SECRET_BK is also set in the environment.*\n.*uses the new secret within two seconds/)
      assert.doesNotMatch(backups.out, /are accepted/)
      const { values, out } = await run()
      assert.match(out, /within two seconds\n.*are accepted/)
      // The environment has the same secret as .env had, and it stays in force.
      assert.match((await run({}, { [SECRET]: values[SECRET] ?? '' })).out, /set in the environment/)
    }))

  it('changes nothing when the file or its backups are malformed, and quotes neither of them', async () => {
    for (const text of [`${SECRET}=first\n${BACKUPS}=hush\n`, `${SECRET}=first\nhush hush\n`]) {
      await inFolder(text, async (folder, run) => {
        await assert.rejects(run(), (error: Error) => !error.message.includes('hush'))
        assert.equal(await readFile(join(folder, '.env'), 'utf8'), text)
        assert.deepEqual(await readdir(folder), ['.env'])
      })
    }
  })

  it('does not run twice at the same time, and recovers from a killed run', () =>
    inFolder(`${SECRET}=first\n`, async (folder, run) => {
      const lock = join(folder, '.env.new')
      await writeFile(lock, 'half')
      await assert.rejects(run(), { code: 'ENV_FILE_BUSY' })
      assert.equal(await readFile(join(folder, '.env'), 'utf8'), `${SECRET}=first\n`)
      await utimes(lock, 1, 1)
      assert.deepEqual(JSON.parse((await run()).values[BACKUPS] ?? ''), ['first'])
    }))
})
