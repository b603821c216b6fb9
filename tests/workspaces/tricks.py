"""Commands that try what they must not: to outlive their end, and to get through the wall."""

# Ways to get away from a parent that wants to end you. `{0}` is how long to sleep.
ESCAPES = {
    "child": "sleep {0} & wait",
    "grandchild": "(sh -c 'sleep {0} & wait') & wait",
    "own session": "setsid sleep {0} & wait",
    "double fork": "(setsid sh -c 'sleep {0} & exit' &) ; sleep {0}",
    "ignores SIGTERM": "trap '' TERM HUP INT; (trap '' TERM; sleep {0}) & sleep {0}",
    "all at once": (
        "trap '' TERM HUP INT; (setsid sh -c \"trap '' TERM HUP; (sleep {0} &) ; sleep {0}\" &) ; sleep {0}"
    ),
    "stopped": "sh -c 'kill -STOP $$; sleep {0}' & sleep {0}",
    "without the mark": "env -i setsid sleep {0} & env -i sleep {0}",
}

# A command that says "ok" where the wall holds, by name.
PROBES = {
    "writes the workspace": "echo x > file && rm file && echo ok",
    "reads the system": "test -x /usr/bin/env && test -r /etc/passwd && echo ok",
    "cannot write the system": "touch /usr/x /etc/x /x 2>/dev/null; ls /?/x /???/x 2>/dev/null || echo ok",
    "sees no other root directories": (
        "for d in /srv /mnt /media /run/user /var/lib /var/log /sys/class /boot; do "
        "[ -e $d ] && echo $d; done; echo ok"
    ),
    "sees no homes": '[ "$(ls /home)" = holdfast ] && echo ok',
    "sees no sockets": "find / -xdev -type s 2>/dev/null | grep . || echo ok",
    "sees its own processes alone": "[ $(ls -d /proc/[0-9]* | wc -l) -lt 12 ] && echo ok",
    "cannot read other users' secrets": "cat /etc/shadow >/dev/null 2>&1 || echo ok",
    "cannot change the kernel": (
        "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/kernel/modprobe; do "
        "( : >> $f ) 2>/dev/null && echo $f; done; echo ok"
    ),
    "cannot mount": "mount -t tmpfs none /tmp 2>/dev/null || echo ok",
    "cannot make devices": "mknod /tmp/disk b 8 0 2>/dev/null || echo ok",
    "has devices": "echo x > /dev/null && head -c 1 /dev/urandom > /dev/null && echo ok",
    "cannot trace the first process": "( : < /proc/1/root" + "/etc/shadow ) 2>/dev/null || echo ok",
    "gets no privileges": "grep -q 'NoNewPrivs:.1' /proc/self/status && echo ok",
    "has a private temporary directory": "[ \"$(ls -A /tmp | grep -v pytest)\" = '' ] && echo ok",
}
