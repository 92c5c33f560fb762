// Package book runs the operator's book, manifests/install: the shell blocks of each page, unmodified and in the order
// of the pages, on the built programs, with one hub, member and agent throughout. So every documented procedure works.
//
// The blocks of a page run in one shell, which ends at the first command that fails. What a page presupposes is
// provided: systemctl, sudo, ssh, scp and useradd are replaced by programs of the test. This systemctl runs the unit in
// /etc/systemd/system, with its drop-ins, as a process of the test. The test has a directory instead of a machine, so
// these directories and names in a page, and nothing else, are replaced:
//
//	/backup, /etc, /usr/local/bin, /var/lib/fairlead   by ones of the test, which are the defaults of hub and agent, too
//	hub.example.com                                    by 127.0.0.1
//	https://login.example.com/realms/ops               by the issuer of the test
//
// Blocks that cannot be run this way are marked as console in the page, and listed in this package with the reason.
package book
