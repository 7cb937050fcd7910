import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type CommandContext, definePlugin, type ZinError } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, fakeClock } from 'zin/testing'
import { addUser, loginHost, run } from '../../scripts/testing/login-session.js'
import { createAccounts } from './accounts.js'
import { userCommands } from './cli.js'
import { createUsers } from './migrations/0001-create-users.js'
import { type Argon2, createPasswords } from './passwords.js'
import { seedUser } from './seed.js'
import { databaseUsers } from './store/users.js'

const tables = definePlugin({ name: 'tables', version: '1.0.0', dependencies: ['database'], setup: (ctx) => ctx.migration(createUsers) })

const parameters = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/
const one = ['$argon2id$v=19$m=19456,t=2,p=1$']

/** Real tables, and a password check that records its calls. */
async function setUp() {
  const host = await createTestHost({ plugins: [database(), tables()] })
  const calls = { hash: 0, verify: [] as string[] }
  const { hash, verify } = await import('@node-rs/argon2')
  const counting: Argon2 = {
    hash(password) {
      calls.hash += 1
      return hash(password)
    },
    verify(text, password) {
      calls.verify.push(parameters.exec(text)?.[0] ?? text)
      return verify(text, password)
    },
  }
  const accounts = createAccounts(
    databaseUsers(() => host.service(databaseService)),
    createPasswords(2, async () => counting),
    fakeClock(1000),
  )
  return { host, accounts, calls }
}

describe('accounts', () => {
  it('S22: runs one password check for a correct password, a wrong one, an unknown user and a disabled one', async () => {
    const { host, accounts, calls } = await setUp()
    await accounts.add({ email: 'ada@example.com', password: 'a-good-password' })
    await accounts.add({ email: 'gone@example.com', password: 'a-good-password' })
    await accounts.disable('gone@example.com')
    const hashes = calls.hash
    const results: unknown[] = []
    for (const [email, password] of [
      ['ada@example.com', 'a-good-password'],
      ['ada@example.com', 'a-bad-password'],
      ['no@example.com', 'a-good-password'],
      ['gone@example.com', 'a-good-password'],
    ] as const) {
      calls.verify = []
      results.push([(await accounts.verify(email, password))?.email, calls.verify])
    }
    assert.deepEqual(results, [
      ['ada@example.com', one],
      [undefined, one],
      [undefined, one],
      [undefined, one],
    ])
    assert.equal(calls.hash, hashes)
    await host.stop()
  })

  it('hashes passwords with argon2id, and stores no password', async () => {
    const { host, accounts } = await setUp()
    const user = await accounts.add({ email: 'ada@example.com', password: 'a-good-password', role: 'admin' })
    assert.match(user?.passwordHash ?? '', parameters)
    const rows = await host.service(databaseService).tables().selectFrom('zin_users').selectAll().execute()
    assert.deepEqual(
      rows.map((row) => Object.keys(row)),
      [['id', 'email', 'password_hash', 'role', 'created_at', 'disabled_at']],
    )
    assert.ok(!JSON.stringify(rows).includes('a-good-password'))
    assert.deepEqual(
      (await accounts.list()).map(({ email, role, createdAt }) => ({ email, role, createdAt })),
      [{ email: 'ada@example.com', role: 'admin', createdAt: 1000 }],
    )
    await host.stop()
  })

  it('accepts an email once, whatever its case, and refuses an invalid email, role or password', async () => {
    const { host, accounts } = await setUp()
    assert.ok(await accounts.add({ email: 'Ada@Example.com', password: 'a-good-password' }))
    assert.equal(await accounts.add({ email: 'ada@example.COM', password: 'a-good-password' }), undefined)
    const good = { email: 'bob@example.com', password: 'a-good-password' }
    for (const change of [
      { email: 'bob' },
      { email: '@' },
      { email: 'b ob@x.y' },
      { email: `${'x'.repeat(320)}@x` },
      { password: '1234567' },
      { password: 'x'.repeat(129) },
      { role: '' },
    ]) {
      await assert.rejects(accounts.add({ ...good, ...change }), { code: 'USER_INVALID' })
    }
    await assert.rejects(accounts.disable('bob@example.com'), { code: 'USER_NOT_FOUND' })
    await host.stop()
  })

  it('refuses every password of a user whose hash is damaged', async () => {
    const { host, accounts } = await setUp()
    await accounts.add({ email: 'ada@example.com', password: 'a-good-password' })
    await host.service(databaseService).tables().updateTable('zin_users').set({ password_hash: 'damaged' }).execute()
    assert.equal(await accounts.verify('ada@example.com', 'a-good-password'), undefined)
    await host.stop()
  })

  it('refuses logins while too many password checks are waiting, and accepts them afterwards', async () => {
    const release: (() => void)[] = []
    const slow: Argon2 = { hash: async () => 'decoy', verify: () => new Promise((resolve) => release.push(() => resolve(true))) }
    const passwords = createPasswords(1, async () => slow)
    const checks = Array.from({ length: 33 }, () => passwords.check('x', 'hash'))
    await assert.rejects(passwords.check('x', 'hash'), (error: ZinError) => error.code === 'LOGIN_BUSY' && error.status === 503)
    for (let done = 0; done < 33; done += 1) {
      while (release.length === 0) await new Promise(setImmediate)
      assert.equal(release.length, 1)
      release.shift()?.()
      assert.equal(await checks[done], true)
    }
    const last = passwords.check('x', undefined)
    while (release.length === 0) await new Promise(setImmediate)
    release.shift()?.()
    assert.equal(await last, false)
  })

  it('reports a failure of argon2 instead of a wrong password', async () => {
    const failing: Argon2 = { hash: async () => 'decoy', verify: () => Promise.reject(new Error('out of memory')) }
    const passwords = createPasswords(1, async () => failing)
    for (const hash of ['hash', undefined]) await assert.rejects(passwords.check('x', hash), { message: 'out of memory' })
  })

  it('loads argon2 again after a failure', async () => {
    let loads = 0
    const passwords = createPasswords(1, async () => {
      loads += 1
      if (loads === 1) throw new Error('not now')
      return { hash: async () => 'decoy', verify: async () => true }
    })
    await assert.rejects(passwords.check('x', 'hash'), { message: 'not now' })
    assert.deepEqual([await passwords.check('x', 'hash'), await passwords.check('x', 'hash'), loads], [true, true, 2])
  })
})

describe('commands for users', () => {
  it('create a user with a password that is printed once, and list users without it', async () => {
    const host = await loginHost()
    const { password } = await addUser(host, 'ada@example.com', 'admin')
    assert.match(password, /^[\w-]{22}$/)
    const { rows } = await run(host, 'user:list', {})
    assert.deepEqual(
      rows.map(({ email, role, disabled }) => ({ email, role, disabled })),
      [{ email: 'ada@example.com', role: 'admin', disabled: '' }],
    )
    assert.ok(!JSON.stringify(rows).includes(password) && !JSON.stringify(rows).includes('argon2'))
    assert.ok(!host.logText().includes(password))
    await assert.rejects(addUser(host, 'ada@example.com'), { code: 'USER_EXISTS' })
    await host.stop()
  })

  it('read a password from the first line of standard input', async () => {
    const { host, accounts } = await setUp()
    const add = async (email: string, chunks: readonly string[]): Promise<unknown> => {
      async function* input() {
        for (const chunk of chunks) yield Buffer.from(chunk)
      }
      const unused = (): never => assert.fail('not needed to add a user')
      const command = userCommands({
        accounts,
        data: { names: unused, records: unused, erase: unused, forget: unused },
        tokens: unused,
        devices: unused,
        input,
        manage: (_action, work) => work(() => undefined),
      }).find(({ name }) => name === 'user:add')
      const print = { record: () => undefined }
      return command?.run({
        args: { email },
        options: { role: 'user', generate: false, 'password-stdin': true },
        print,
      } as unknown as CommandContext)
    }
    await add('a@b.c', ['a-good-', 'password\r\nsecond line'])
    await add('b@b.c', ['a-good-passw\u00f6rd'])
    assert.ok(await accounts.verify('a@b.c', 'a-good-password'))
    assert.ok(await accounts.verify('b@b.c', 'a-good-passw\u00f6rd'))
    for (const chunks of [[], ['\n'], ['x'.repeat(5000)]]) await assert.rejects(add('c@b.c', chunks), { code: 'USER_INVALID' })
    await host.stop()
  })

  it('accept no password as an argument, and require an option for its source', async () => {
    const host = await loginHost()
    for (const both of [true, false]) {
      const { code, errors } = await run(
        host,
        'user:add',
        { email: 'ada@example.com' },
        { role: 'user', generate: both, 'password-stdin': both },
      )
      assert.deepEqual([code, errors], [2, ['Pass either --password-stdin or --generate']])
    }
    const add = host.host.commands().find(({ command }) => command.name === 'user:add')?.command
    assert.deepEqual(
      Object.entries(add?.options ?? {}).map(([name, option]) => [name, (option as { type: string }).type]),
      [
        ['role', 'string'],
        ['password-stdin', 'boolean'],
        ['generate', 'boolean'],
      ],
    )
    await host.stop()
  })
})

describe('the seed', () => {
  const folders: string[] = []
  after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

  async function seedOnce(parts: Awaited<ReturnType<typeof setUp>>, rootDir: string, password = '', printing = true) {
    const lines: string[] = []
    const { accounts, host } = parts
    await seedUser({
      accounts,
      email: 'demo@example.com',
      role: 'admin',
      setting: 'DEMO_PASSWORD',
      password,
      rootDir,
      print: printing ? (line) => lines.push(line) : undefined,
      log: host.host.log,
    })
    return lines
  }
  const newFolder = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-seed-'))
    folders.push(folder)
    return folder
  }

  it('creates the user once with a password that it prints, writes to .env for the owner only, and does not log', async () => {
    const [parts, rootDir] = [await setUp(), await newFolder()]
    await writeFile(join(rootDir, '.env'), '# mine\nDEMO_PASSWORD=\nAPP_KEY=abc', { mode: 0o644 })
    const lines = await seedOnce(parts, rootDir)
    const text = await readFile(join(rootDir, '.env'), 'utf8')
    const password = /^DEMO_PASSWORD='([\w-]{22})'$/m.exec(text)?.[1] ?? ''
    assert.equal(text, `# mine\nDEMO_PASSWORD='${password}'\nAPP_KEY=abc`)
    assert.equal((await stat(join(rootDir, '.env'))).mode & 0o777, 0o600)
    assert.equal(lines.length, 1)
    assert.ok(lines[0]?.includes(password))
    assert.ok(!parts.host.logText().includes(password))
    assert.equal((await parts.accounts.verify('demo@example.com', password))?.role, 'admin')
    assert.deepEqual(await seedOnce(parts, rootDir), [])
    await parts.host.stop()
  })

  it('does not write .env while a command is changing it, and reports that', async () => {
    const [parts, rootDir] = [await setUp(), await newFolder()]
    await writeFile(join(rootDir, '.env.new'), 'half')
    assert.match((await seedOnce(parts, rootDir)).join(), /not stored anywhere/)
    assert.deepEqual(await readdir(rootDir), ['.env.new'])
    await parts.host.stop()
  })

  it('uses the password of the setting, and then prints and writes none', async () => {
    const [parts, rootDir] = [await setUp(), await newFolder()]
    assert.deepEqual(await seedOnce(parts, rootDir, 'a-chosen-password'), [])
    await assert.rejects(readFile(join(rootDir, '.env')), { code: 'ENOENT' })
    assert.ok(await parts.accounts.verify('demo@example.com', 'a-chosen-password'))
    await parts.host.stop()
  })

  it('prints the password also when .env cannot be written, and reports that', async () => {
    const [parts, rootDir] = [await setUp(), await newFolder()]
    const lines = await seedOnce(parts, join(rootDir, 'not-there'))
    assert.match(lines.join(), /with the password [\w-]{22} \(not stored anywhere/)
    await parts.host.stop()
  })

  it('prints nothing where the output may be collected, writes the password to .env, and reports the fix when that fails', async () => {
    const [parts, rootDir] = [await setUp(), await newFolder()]
    assert.deepEqual(await seedOnce(parts, rootDir, '', false), [])
    const password = /^DEMO_PASSWORD='([\w-]{22})'$/m.exec(await readFile(join(rootDir, '.env'), 'utf8'))?.[1] ?? ''
    assert.ok(await parts.accounts.verify('demo@example.com', password))
    await parts.host.stop()
    const other = await setUp()
    assert.deepEqual(await seedOnce(other, join(rootDir, 'not-there'), '', false), [])
    assert.match(other.host.logText(), /set another one with \\"zin user:password\\"/)
    await other.host.stop()
  })

  it('prints a generated password to standard output with LOG_FORMAT=text, but not with JSON logs', async (t) => {
    const seed = { email: 'demo@example.com', passwordSetting: 'DEMO_PASSWORD' } as const
    for (const [format, times] of [
      ['text', 1],
      ['json', 0],
    ] as const) {
      const lines: string[] = []
      const write = t.mock.method(process.stdout, 'write', (text: string) => lines.push(text) > 0)
      const terminal = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
      Object.defineProperty(process.stdout, 'isTTY', { value: false, configurable: true })
      try {
        const host = await loginHost({ seed }, { env: { APP_KEY: 'x'.repeat(32), LOG_FORMAT: format } })
        await host.stop()
      } finally {
        write.mock.restore()
        if (terminal) Object.defineProperty(process.stdout, 'isTTY', terminal)
        else Reflect.deleteProperty(process.stdout, 'isTTY')
      }
      assert.equal(lines.filter((line) => line.startsWith('User demo@example.com was created with the password')).length, times, format)
    }
  })

  it('does not create a user in production, whatever the setting, and names the command for it', async () => {
    const seed = { email: 'demo@example.com', passwordSetting: 'DEMO_PASSWORD' } as const
    const env = { NODE_ENV: 'production', APP_KEY: 'x'.repeat(32), DEMO_PASSWORD: 'a-chosen-password' }
    const host = await loginHost({ seed }, { env })
    assert.deepEqual((await run(host, 'user:list', {})).rows, [])
    const said = host.logs.filter(({ msg }) => msg?.includes('option seed'))
    assert.deepEqual(
      said.map(({ level, msg }) => [level, msg]),
      [['info', 'the option seed does not create a user in production; add users with "zin user:add"']],
    )
    await host.stop()
  })

  it('runs at the first start of an app, but not for commands', async () => {
    const seed = { email: 'demo@example.com', role: 'admin', passwordSetting: 'DEMO_PASSWORD' } as const
    const command = await loginHost({ seed }, { roles: [] })
    assert.deepEqual((await run(command, 'user:list', {})).rows, [])
    await command.stop()
    const app = await loginHost({ seed }, { env: { APP_KEY: 'x'.repeat(32), DEMO_PASSWORD: 'a-chosen-password' } })
    assert.deepEqual(
      (await run(app, 'user:list', {})).rows.map(({ email, role }) => [email, role]),
      [['demo@example.com', 'admin']],
    )
    const answer = await app.inject({
      method: 'POST',
      path: '/auth/login',
      body: { email: 'demo@example.com', password: 'a-chosen-password' },
    })
    assert.equal(answer.status, 200)
    await app.stop()
  })
})
