import { defineSettings } from 'zin'
import { appKeySettings, earlierAppKeySettings } from 'zin/plugins/jwt'

export const complianceSettings = defineSettings({
  WORKER_AUDIT_LOG: {
    type: 'bool',
    default: true,
    summary: 'Whether management actions and final job outcomes are written to the audit log',
  },
  WORKER_AUDIT_ANCHOR_FILE: {
    type: 'string',
    default: '',
    summary:
      'File to which seals of the audit log are appended, one JSON line each, and with which verification compares the log. Relative to the folder of the app',
  },
  WORKER_AUDIT_ANCHOR_URL: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'URL to which the same lines are posted, signed as the Standard Webhooks specification says',
  },
  WORKER_AUDIT_ANCHOR_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Key of the signatures for `WORKER_AUDIT_ANCHOR_URL`: `whsec_` and base64, or any other text, of at least 24 bytes',
  },
  WORKER_ENCRYPTION: {
    type: 'bool',
    default: true,
    summary: 'Whether payloads, results, error messages and logs of jobs are stored encrypted',
  },
  WORKER_ENCRYPTION_KEYS: {
    type: 'string',
    default: '',
    secret: true,
    summary:
      'Keys of stored jobs, newest first: `<id>:<32 bytes as base64>`, separated by commas. The first key encrypts; all keys decrypt. Empty: derived from `APP_KEY` and `APP_KEY_BK`, whose derived keys always decrypt',
  },
  WORKER_DATA_RETENTION: {
    type: 'int',
    default: 90,
    min: 1,
    max: 3650,
    summary: 'Days for which job records, audit entries and history are kept',
  },
  WORKER_GDPR: {
    type: 'bool',
    default: false,
    summary: 'Whether the data of a subject can be exported and erased',
  },
  WORKER_HIPAA: {
    type: 'bool',
    default: false,
    summary: 'Start only with encryption and the audit log, hide payloads without the permission, and limit the duration of event streams',
  },
  WORKER_SOC2: {
    type: 'bool',
    default: true,
    summary: 'Whether the report of controls, evidence and gaps is served',
  },
  ...appKeySettings,
  ...earlierAppKeySettings,
})
