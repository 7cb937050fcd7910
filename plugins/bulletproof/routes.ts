import { defineRoute, type Route, withinAuthBudget } from 'zin'
import type { Claims } from 'zin/plugins/jwt'
import type { Device, Devices } from './contract.js'
import { bulletproofErrors } from './errors.js'
import { deviceIdParams, deviceList, message } from './schema.js'

/** Routes for users to list and remove their own devices. */
export function deviceRoutes(devices: Devices): readonly Route[] {
  const use = ['auth', 'bulletproof'] as const
  return [
    defineRoute({
      method: 'GET',
      path: '/auth/devices',
      summary: 'Your active devices, most recently seen first',
      use,
      response: { 200: deviceList },
      async handler(ctx) {
        ctx.set('Cache-Control', 'no-store')
        const list = await withinAuthBudget(ctx, () => devices.list(idOf(ctx.request.user)))
        return { devices: list.map((device) => shown(device, ctx.state.signer.keyId)) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/auth/devices/:id',
      summary: 'Removes one of your devices; requests signed by it are refused from then on',
      use,
      params: deviceIdParams,
      response: { 200: message },
      async handler(ctx) {
        const { id } = ctx.input.params
        const removed = await withinAuthBudget(ctx, () => devices.remove(id, idOf(ctx.request.user)))
        if (!removed) throw bulletproofErrors.DEVICE_NOT_FOUND(id)
        return { message: 'Device removed' }
      },
    }),
  ]
}

/** A token without `sub` owns no devices. */
function idOf({ sub }: Claims): string {
  return String(sub ?? '')
}

function shown({ deviceId, label, profile, publicKey, createdAt, lastSeenAt }: Device, current: string) {
  const times = { createdAt: new Date(createdAt).toISOString(), lastSeenAt: new Date(lastSeenAt).toISOString() }
  return {
    deviceId,
    ...(label === undefined ? {} : { label }),
    profile,
    ...(publicKey === undefined ? {} : { publicKey }),
    ...times,
    current: deviceId === current,
  }
}
