import type { ConsoleModule } from '../../../contract.js'
import { AuditLog } from './audit-log.js'
import { DataSubjects } from './data-subjects.js'

export const compliancePages: ConsoleModule = () => ({
  pages: [
    {
      path: '/audit',
      title: 'Audit log',
      plugin: 'compliance',
      may: 'operate',
      nav: { icon: 'audit', order: 74, key: 'l' },
      view: AuditLog,
    },
    {
      path: '/subjects',
      title: 'Data subjects',
      plugin: 'compliance',
      may: 'subjects',
      nav: { icon: 'subject', order: 76, key: 'u' },
      view: DataSubjects,
    },
  ],
})
