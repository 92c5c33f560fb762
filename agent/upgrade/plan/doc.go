// Package plan decides about upgrades of an agent that runs in a pod: the next step of its guard. It is pure.
//
//	         image allowed              the hub has heard the new agent, which has run for a while
//	request ──────────────▶ Upgrading ──────────────────────────────────▶ Upgraded
//	   │                        ├── it was not, within the time ─────────▶ RolledBack, to the image before
//	   └──▶ Refused             └── somebody else changed the image ─────▶ RolledBack, nothing is touched
//
// A request with an older attempt than the record is ignored, and the record stays.
//
// Each arrow is one write of one object, the agent's Deployment, in which the record, the image and the number of the
// start change together. So there is no intermediate state in which a crash could leave it.
package plan
