import { defineSettings } from 'zin'
import { appKeySettings } from 'zin/plugins/jwt'

export const complianceSettings = defineSettings({
  WORKER_AUDIT_LOG: {
    type: 'bool',
    default: true,
    summary: 'Whether management actions and final job outcomes are written to the audit log',
  },
  WORKER_ENCRYPTION: {
    type: 'bool',
    default: true,
    summary: 'Whether payloads, results, failure texts and logs of jobs are stored encrypted',
  },
  WORKER_ENCRYPTION_KEYS: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Keys of stored jobs, newest first: `<id>:<32 bytes as base64>`, separated by commas. The first one encrypts, all decrypt. Empty: derived from `APP_KEY` and `APP_KEY_BK`, which decrypt in any case',
  },
  WORKER_DATA_RETENTION: {
    type: 'int',
    default: 90,
    min: 1,
    max: 3650,
    summary: 'Days for which job records, audit and history are kept',
  },
  WORKER_GDPR: {
    type: 'bool',
    default: false,
    summary: 'Whether the data of a subject can be exported and erased',
  },
  WORKER_HIPAA: {
    type: 'bool',
    default: false,
    summary: 'Start only with encryption and audit, hide payloads without the permission, and limit event streams',
  },
  WORKER_SOC2: {
    type: 'bool',
    default: true,
    summary: 'Whether the report of controls, evidence and gaps is served',
  },
  ...appKeySettings,
  APP_KEY_BK: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Earlier master keys, with which what was sealed or encrypted before is still read: JSON array of strings',
  },
})
