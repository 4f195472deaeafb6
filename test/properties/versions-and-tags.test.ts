import { versionsAndTagsModel } from '../suites/versions-and-tags.js'
import { openInMemory, openOverHttp } from '../support/doors.js'

versionsAndTagsModel('direct', openInMemory, 60)
versionsAndTagsModel('over HTTP', openOverHttp, 30)
