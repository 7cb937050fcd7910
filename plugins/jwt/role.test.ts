import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineRoute } from 'zin'
import { jwt, role, tokensService } from 'zin/plugins/jwt'
import { createTestHost, fakeClock } from 'zin/testing'

const route = (path: string, use: readonly ['auth', ReturnType<typeof role>] | readonly [ReturnType<typeof role>]) =>
  defineRoute({ method: 'GET', path, summary: 'x', use, handler: () => ({ ok: true }) })

describe('role()', () => {
  it('passes users with one of its roles, and refuses others with 403 and requests without a user with 401', async () => {
    const routes = [
      route('/admin', ['auth', role('admin')]),
      route('/any', ['auth', role('admin', 'editor')]),
      route('/open', [role('admin')]),
      defineRoute({
        method: 'GET',
        path: '/typed',
        summary: 'x',
        use: ['auth', role('admin')],
        handler: ({ request }) => ({ email: request.user.email?.toUpperCase() }),
      }),
    ]
    const host = await createTestHost({ plugins: [jwt()], routes, env: { JWT_SECRET: 's'.repeat(32) }, clock: fakeClock() })
    try {
      const tokens = host.service(tokensService)
      const get = async (path: string, claims?: object) => {
        const headers = claims && { authorization: `Bearer ${(await tokens.issue({ sub: 'u', ...claims })).token}` }
        const { status, body } = await host.inject({ method: 'GET', path, ...(headers && { headers }) })
        return status === 200 ? 200 : `${status} ${body.code}`
      }
      for (const [path, claims, expected] of [
        ['/admin', { role: 'admin' }, 200],
        ['/admin', { role: 'editor' }, '403 ROLE_REQUIRED'],
        ['/admin', { role: 'Admin' }, '403 ROLE_REQUIRED'],
        ['/admin', { role: ['admin'] }, '403 ROLE_REQUIRED'],
        ['/admin', { roles: ['admin'] }, '403 ROLE_REQUIRED'],
        ['/admin', {}, '403 ROLE_REQUIRED'],
        ['/any', { role: 'editor' }, 200],
        ['/any', { role: 'user' }, '403 ROLE_REQUIRED'],
        ['/admin', undefined, '401 UNAUTHORIZED'],
        ['/open', { role: 'admin' }, '401 UNAUTHORIZED'],
        ['/typed', { role: 'admin', email: 'a@b.c' }, 200],
      ] as const)
        assert.equal(await get(path, claims), expected, `${path} ${JSON.stringify(claims)}`)
      const { paths } = host.host.http.openapi() as { paths: Record<string, { get: { security: object } }> }
      assert.deepEqual(paths['/admin']?.get.security, [{ bearer: [] }])
    } finally {
      await host.stop()
    }
  })

  it('needs a name', () => {
    for (const names of [[], [''], [1], ['admin', undefined]])
      assert.throws(() => role(...(names as unknown as ['x'])), { message: /needs one or more names/ })
  })
})
