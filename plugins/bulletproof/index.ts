import { randomBytes } from 'node:crypto'
import { definePlugin, joinErrors, messageOf, optional } from 'zin'
import type {} from 'zin/plugins/compliance'
import { databaseService } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { kvService } from 'zin/plugins/kv'
import { createSealer, parseSecrets, sha256Hex, signatureHeaderNames } from 'zin/signing'
import { attackCommand } from './attack/cli.js'
import { checkSecrets, MIN_SECRET_BYTES } from './check-secrets.js'
import { keyCommand } from './cli.js'
import { commandCredential } from './command-credential.js'
import { devicesService, signedRequestsService } from './contract.js'
import { bulletproofErrors } from './errors.js'
import { explainCommand } from './explain/cli.js'
import { bulletproofHooks } from './hooks.js'
import { LastSeen } from './last-seen.js'
import { LiveKeyring } from './live-keyring.js'
import { managedDevices } from './managed.js'
import { bulletproofMiddleware } from './middleware.js'
import { createDevices as createDevicesTable } from './migrations/0001-create-devices.js'
import { createNonces as createNoncesTable } from './migrations/0002-create-nonces.js'
import { useUnicodeInTables } from './migrations/0003-use-unicode.js'
import { bulletproofOptions } from './options.js'
import { deviceRoutes } from './routes.js'
import { Secrets } from './secrets.js'
import { createDevices } from './service.js'
import { bulletproofSettings } from './settings.js'
import { type SharedKeyring, sharedSecret } from './shared-keyring.js'
import { HttpChecks } from './signed-requests.js'
import { chooseStores } from './store/choose.js'
import { lastingNonces } from './store/nonces/lasting.js'
import { Verification } from './verification.js'

export type { Device, Devices, Enrolment, Refusal, SignedBy, SignedRequests, SignedUser, Signer } from './contract.js'
export { devicesService, signedRequestsService } from './contract.js'
export { checkPublicKey } from './device-key.js'
export type { AuthDecision, BulletproofHooks } from './hooks.js'
// The types of `ctx.state` in routes with the key `bulletproof`.
export type {} from './middleware.js'
export type { BulletproofOptions, GetSecretForKeyId, StoreChoice } from './options.js'
export { signatureSettings } from './settings.js'
export type { RequestNonces, RequestNoncesOptions } from './store/nonces/open.js'
export { openNonces } from './store/nonces/open.js'

/**
 * Proof of possession on top of the bearer token: routes that list `bulletproof` accept only requests signed by a device or a trusted
 * caller.
 */
export const bulletproof = definePlugin({
  name: 'bulletproof',
  version: '1.0.0',
  description: 'Signed requests bound to devices, nine layers deep; middleware key bulletproof',
  uses: { tokens: tokensService, kv: optional(kvService), database: optional(databaseService) },
  provides: [devicesService, signedRequestsService],
  hooks: bulletproofHooks,
  errors: bulletproofErrors,
  settings: bulletproofSettings,
  options: bulletproofOptions,
  setup(ctx) {
    const { options, settings, services, host, clock, log, hooks } = ctx
    const headerPrefix = options.headerPrefix ?? settings.SIGNATURE_HEADER_PREFIX
    const names = signatureHeaderNames(headerPrefix)
    const { envFile } = host.app
    const check = (keyring: SharedKeyring): ReturnType<typeof checkSecrets> =>
      checkSecrets({
        production: host.app.production,
        serving: host.roles.has('http'),
        shared: keyring,
        knowsHost: host.app.allowedHosts !== undefined || options.signedAuthority !== '',
        sharedSecretFor: options.sharedSecretFor,
        appKeyBytes: Buffer.byteLength(settings.APP_KEY),
        deviceDriver: stores.devices.driver,
        nonceDriver: stores.nonces.driver,
      })
    const shared = new LiveKeyring({
      settings,
      maxBackups: options.maxBackups,
      minBackupBytes: host.app.production ? MIN_SECRET_BYTES : 0,
      overridden: (name) => host.settings().some((row) => row.name === name && row.source === 'environment'),
      problemOf: (keyring) => check(keyring).errors[0],
      rotate: (take) => ctx.manage({ action: 'key.rotate', target: 'key:signing-secret' }, take),
      log,
    })
    const backends = () => ({ kv: services.kv, database: services.database })
    // While a token of a removed device can be valid, the device's id must not become free for the shared secret.
    const tombstoneMs = Math.max(options.tombstoneMs, services.tokens.longestLifeMs)
    const stores = chooseStores({ ...options, tombstoneMs, dataDir: host.app.dataDir }, backends, clock)
    const nonces = lastingNonces(stores.nonces, stores.ledger, clock, options.windowMs)
    // Without APP_KEY, devices are lost when the process ends; the check below refuses that in production.
    const master = settings.APP_KEY === '' ? randomBytes(32).toString('base64url') : settings.APP_KEY
    const sealer = createSealer([master, ...parseSecrets(settings.APP_KEY_BK, 'APP_KEY_BK')])
    const resolving = hooks.slot('resolveSigningSecret')
    const sharedKeyIds = new Set(options.sharedKeyIds)

    const secrets = new Secrets({
      sealer,
      shared,
      sharedSecretFor: options.sharedSecretFor,
      sharedKeyIds,
      legacySecrets: options.legacySecrets,
      resolve: async (keyId) => (await options.getSecretForKeyId?.(keyId)) ?? (resolving.active ? await resolving.call(keyId) : undefined),
      stale: ({ deviceId, signingSecret }, envelope) => seen.also(stores.devices.reseal(deviceId, signingSecret, envelope)),
      unreadable: ({ deviceId }) =>
        log.warn(
          { keyIdHash: sha256Hex(deviceId).slice(0, 16) },
          'a device secret cannot be decrypted: APP_KEY was changed without APP_KEY_BK, or the record was tampered with',
        ),
    })
    const seen = new LastSeen({
      clock,
      touch: (id, at) => stores.devices.touch(id, at),
      failed: (error) => log.debug({ why: messageOf(error) }, 'a device record was not updated'),
    })
    const verification = new Verification({
      names,
      windowMs: options.windowMs,
      signedPathPrefix: options.signedPathPrefix,
      signedAuthority: options.signedAuthority,
      get slots() {
        return shared.slots
      },
      clock,
      tokens: services.tokens,
      kv: () => services.kv,
      devices: stores.devices,
      nonces,
      secrets,
      seen: (device) => seen.note(device),
    })
    const signed = new HttpChecks({ verification, names, windowMs: options.windowMs, decisions: hooks.slot('onAuthDecision'), log })
    const unmanaged = createDevices({
      store: stores.devices,
      sealer,
      kv: () => services.kv,
      clock,
      maxPerUser: options.maxDevicesPerUser,
      reservedIds: sharedKeyIds,
      changed: (deviceId) => secrets.forget(deviceId),
      removed: async (device) => {
        const [failure] = await hooks.slot('onDeviceRemoved').call(device)
        if (failure !== undefined) throw failure.error
        await hooks.slot('onAccessEnded').call(device.userId)
      },
    })

    const devices = managedDevices(unmanaged, ctx.manage)
    ctx.provide(devicesService, devices)
    ctx.provide(signedRequestsService, signed)
    const isThere = (plugin: string): boolean => host.plugins().some(({ name }) => name === plugin)
    // With login, they are part of an account.
    if (isThere('compliance') && !isThere('login')) {
      hooks.on('exportSubject', async (subject) =>
        (await devices.list(subject)).map(({ deviceId, label = null, lastSeenAt }) => ({
          kind: 'device',
          id: deviceId,
          data: { label, lastSeenAt: new Date(lastSeenAt).toISOString() },
        })),
      )
      hooks.on('eraseSubject', async (subject) => {
        if ((await devices.list(subject)).length === 0) return 0
        await services.tokens.revokeUser(subject)
        return devices.removeAll(subject)
      })
    }
    ctx.middleware(bulletproofMiddleware(signed))
    ctx.routes(deviceRoutes(devices))
    ctx.hooks.on('authorizeCommand', {
      // Last, because it also returns a credential when no secret is set, with a hint how to set one.
      order: 'post',
      handler: commandCredential({ secret: sharedSecret(settings).secret, headerPrefix }),
    })
    ctx.command(keyCommand({ windowMs: options.windowMs, clock }))
    ctx.command(
      attackCommand({
        headerPrefix,
        signedPathPrefix: options.signedPathPrefix,
        signedAuthority: options.signedAuthority,
        windowMs: options.windowMs,
        tokens: services.tokens,
        clock,
      }),
    )
    ctx.command(
      explainCommand({
        names,
        windowMs: options.windowMs,
        signedPathPrefix: options.signedPathPrefix,
        signedAuthority: options.signedAuthority,
        tokens: services.tokens,
        kv: () => services.kv,
        devices: stores.devices,
        nonces,
        secrets,
        clock,
      }),
    )
    if ([stores.devices.driver, stores.nonces.driver, stores.ledger?.driver].includes('db'))
      for (const migration of [createDevicesTable, createNoncesTable, useUnicodeInTables]) ctx.migration(migration)

    ctx.onCheck(() => {
      const { errors, warnings } = check(shared)
      for (const warning of warnings) log.warn(warning)
      if (errors.length > 0) throw joinErrors(errors)
    })
    // A command must leave empty stores empty; where it does use nonces, they begin by themselves.
    if (host.roles.size > 0) ctx.onStart(() => nonces.open())
    ctx.onStart(() => {
      if (envFile !== undefined && host.roles.size > 0) ctx.every(1_000, () => shared.look(envFile))
      ctx.every(30_000, () => nonces.sweep())
      ctx.every(3_600_000, () => stores.devices.sweep(clock.now() - tombstoneMs))
    })
    ctx.onStop(() => seen.settled())
  },
})
