#!/bin/sh
# Makes the user that the service runs as, and starts a running service again with the
# new program. A first installation starts nothing: there is no node to follow yet.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers quorate.conf
elif ! getent passwd quorate >/dev/null; then
	useradd --system --home-dir /var/lib/quorate --no-create-home --shell /usr/sbin/nologin --comment Quorate quorate
fi
# It may have the passwords of nodes.
chown root:quorate /etc/quorate/quorate.yaml
chmod 0640 /etc/quorate/quorate.yaml
# As in sysctl.d, which is read at the next start. A container may not.
if read -r maps 2>/dev/null </proc/sys/vm/max_map_count && [ "$maps" -lt 1048576 ]; then
	echo 1048576 2>/dev/null >/proc/sys/vm/max_map_count || echo "quorate: vm.max_map_count stays $maps, which a large index needs more than" >&2
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart quorate.service
fi
