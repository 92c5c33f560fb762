// Package grant lists the rights of an agent on the hub. It is pure.
//
// An agent may read its own Works and change their finalizers and status, read its own Cluster and change its status,
// renew its own lease, request its own next certificate, read interpreter customizations, and emit events about its
// Works. It sees nothing of other clusters. An admission policy enforces what RBAC cannot, such as that an agent
// changes only the finalizers of a Work.
package grant
