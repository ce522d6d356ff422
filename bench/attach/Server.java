// SPDX-License-Identifier: MIT
// Answers lines: a thread for each connection. Another thread does what the machine handles by
// signals: it uses null, and overflows its stack.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

class Server {
    static volatile String nothing;
    static volatile int length;

    static int deeper(int depth) {
        return deeper(depth + 1) + 1;
    }

    static void fault() {
        while (true) {
            try {
                length = nothing.length();
            } catch (NullPointerException expected) {
                length = -1;
            }
            try {
                length = deeper(0);
            } catch (StackOverflowError expected) {
                length = -2;
            }
            List<byte[]> garbage = new ArrayList<>();
            for (int i = 0; i < 200; i++)
                garbage.add(new byte[10_000]);
            length = garbage.size();
            try {
                Thread.sleep(5);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    static void serve(Socket socket) {
        try (socket) {
            var lines = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            OutputStream answers = socket.getOutputStream();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                byte[] hash = MessageDigest.getInstance("SHA-256").digest(line.getBytes());
                answers.write((java.util.HexFormat.of().formatHex(hash) + "\n").getBytes());
            }
        } catch (Exception error) {
            System.err.println(error);
        }
    }

    public static void main(String[] words) throws Exception {
        var listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        System.out.println(listener.getLocalPort());
        new Thread(Server::fault).start();
        while (true) {
            Socket socket = listener.accept();
            socket.setTcpNoDelay(true);
            new Thread(() -> serve(socket)).start();
        }
    }
}
