// Package machines runs a hub on several machines: the built programs, on three members of an etcd that know each other and the hubs by
// certificates, with agents that know several addresses. Any of the processes is killed.
package machines
