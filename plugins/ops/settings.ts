import { defineSettings } from 'zin'

export const opsSettings = defineSettings({
  OPS_AUTH: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'required', 'open'],
    summary: 'Who may operate the app: `auto` (open on a loopback bind outside of production), `required`, `open`; see above',
  },
})
