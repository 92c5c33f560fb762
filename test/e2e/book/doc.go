// Package book runs the operator's book, manifests/install: the blocks of shell of each page, as they stand and in the order of the pages, on
// the built programs, with a hub, a member and its agent that live through all of it. So no procedure says what does not work.
//
// A page's blocks run in one shell, which ends at the first command that fails. What a page takes for granted is there: the
// programs systemctl, sudo, ssh, scp and useradd stand for those of the machine. The systemctl starts what the unit in
// /etc/systemd/system says, with its drop-ins, as a process of the test. Instead of a machine of its own the test has a directory, so
// these directories and names in a page, and nothing else, are replaced:
//
//	/backup, /etc, /usr/local/bin, /var/lib/fairlead   by ones of the test, which are the defaults of hub and agent, too
//	hub.example.com                                    by 127.0.0.1
//	https://login.example.com/realms/ops               by the issuer of the test
//
// Blocks that cannot be run so are marked as console in the page, and listed in this package with why.
package book
