import type { Manage } from 'zin'
import type { Devices } from './contract.js'

/** Wraps devices so that each change is a management action, which plugins can refuse and record. */
export function managedDevices(devices: Devices, manage: Manage): Devices {
  return {
    ...devices,
    enroll: (enrolment) =>
      manage({ action: 'device.enroll', target: `user:${enrolment.userId}` }, async (note) => {
        const enrolled = await devices.enroll(enrolment)
        const { deviceId, profile } = enrolled.device
        note({ after: { deviceId, profile } })
        return enrolled
      }),
    remove: (deviceId, userId) => manage({ action: 'device.remove', target: `device:${deviceId}` }, () => devices.remove(deviceId, userId)),
    removeAll: (userId) => manage({ action: 'device.remove-all', target: `user:${userId}` }, () => devices.removeAll(userId)),
  }
}
