// Package plan decides about upgrades of an agent that runs in a pod: what its guard does next.
// It is pure.
//
//	         image allowed              the hub has heard the new agent
//	request ──────────────▶ Upgrading ──────────────────────────────────▶ Upgraded
//	   │                        ├── it was not, within the time ─────────▶ RolledBack, to the image before
//	   └──▶ Refused             └── somebody else changed the image ─────▶ RolledBack, nothing is touched
//
// Each arrow is one write of one object, the agent's Deployment, in which the record, the image
// and the number of the start change together. So there is no state between them to be killed in.
package plan
